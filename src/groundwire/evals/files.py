"""Files that people write: YAML, JSON, TOML and Python. Any bytes give a value or an error that names the file.

YAML is read as version 1.2 has it: `no` is a word, dates are text, a name that stands twice is a mistake.
"""

import importlib
import importlib.util
import sys
import tomllib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from groundwire.contracts.canonical import JsonValue, parse_json
from groundwire.contracts.errors import ConfigError, GroundwireError, InvalidJson
from groundwire.extras import needs_extra

MAX_BYTES = 8 * 1024 * 1024
MAX_VALUES = 200_000
"""What a file may unfold to: YAML can say the same thing many times over in a few lines."""
DATA = (".yaml", ".yml", ".json", ".toml")
SUFFIXES = (*DATA, ".py")


def read_plain(file: Path) -> JsonValue:
    """What a file of data says, in what JSON is made of."""
    suffix = file.suffix.lower()
    if suffix not in DATA:
        raise ConfigError(f"{file}: it ends in none of {', '.join(SUFFIXES)}.")
    data = read_bytes(file, MAX_BYTES)
    try:
        value: Any = _read_yaml(data) if suffix in (".yaml", ".yml") else _read_other(data, suffix)
    except RecursionError:
        raise ConfigError(f"{file}: it is nested too deeply.") from None
    except (ValueError, InvalidJson) as error:
        form = {".json": "JSON", ".toml": "TOML"}.get(suffix, "YAML")
        raise ConfigError(f"{file} is not {form}: {error}") from None
    _refuse_unfolding(value, file)
    plain: JsonValue = value
    return plain


def read_bytes(file: Path, most: int) -> bytes:
    try:
        data = file.read_bytes()
    except OSError as error:
        raise ConfigError(f"{file} cannot be read: {error.strerror}.") from None
    if len(data) > most:
        raise ConfigError(f"{file} is larger than {most // 1024 // 1024} MiB.")
    return data


def run_python(file: Path) -> dict[str, Any]:
    """The names that a Python file defines. Files beside it can be imported by it."""
    spec = importlib.util.spec_from_file_location(f"groundwire_evals_{file.stem}", file)
    if spec is None or spec.loader is None or not file.is_file():
        raise ConfigError(f"{file} cannot be read: it is no file of Python.")
    module = importlib.util.module_from_spec(spec)
    with importable(file.parent):
        try:
            spec.loader.exec_module(module)
        except GroundwireError as error:
            raise ConfigError(f"{file}: {error.message}", hint=error.hint) from None
        except (Exception, SystemExit) as error:
            raise ConfigError(f"{file} does not run: {type(error).__name__}: {error}") from error
    return vars(module)


def load_function(address: str) -> Callable[..., Any]:
    """What `module:name` means to Python."""
    module, _, name = address.partition(":")
    try:
        found = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError, ValueError) as error:
        raise ConfigError(f"The function {address!r} cannot be found: {error}", hint="module:name") from None
    if not callable(found):
        raise ConfigError(f"{address!r} is no function.")
    return found


@contextmanager
def importable(folder: Path) -> Iterator[None]:
    """Modules of this folder can be imported meanwhile."""
    entry = str(folder.resolve())
    sys.path.insert(0, entry)
    try:
        yield
    finally:
        if entry in sys.path:
            sys.path.remove(entry)


def _read_other(data: bytes, suffix: str) -> Any:
    text = data.decode()
    return parse_json(text) if suffix == ".json" else tomllib.loads(text)


def _read_yaml(data: bytes) -> Any:
    with needs_extra("evals", "A YAML file"):
        import yaml

        from groundwire.evals.yaml_reading import PlainLoader
    try:
        return yaml.load(data, PlainLoader)  # noqa: S506 - a loader that knows even less than the safe one
    except yaml.YAMLError as error:
        raise ValueError(" ".join(str(error).split())) from None


def _refuse_unfolding(value: Any, file: Path) -> None:
    left, waiting = MAX_VALUES, [value]
    while waiting:
        one = waiting.pop()
        left -= 1
        if left < 0:
            raise ConfigError(f"{file}: it unfolds to more than {MAX_VALUES} values.")
        if isinstance(one, dict):
            waiting.extend(one.values())
        elif isinstance(one, list):
            waiting.extend(one)
