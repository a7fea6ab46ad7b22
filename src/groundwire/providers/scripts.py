"""What a scripted model is to say: answers, their calls, and rules; in Python, or in a file as JSON or TOML.

{"answers": [{"calls": [{"name": "get_weather", "arguments": {"city": "Tokyo"}}]}, "It is sunny."],
 "rules": [{"pattern": "refund", "answer": {"text": "I will look that up."}}]}

A function of one's own, `module:name`, is a script too: it is given each request and says what is answered.
"""

import re
import tomllib
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

import msgspec
from msgspec import Struct, field

from groundwire.contracts.canonical import JsonObject
from groundwire.contracts.errors import ConfigError
from groundwire.contracts.failures import Failure
from groundwire.contracts.replies import FinishReason
from groundwire.contracts.requests import ModelRequest


class Ask(Struct, frozen=True, forbid_unknown_fields=True):
    """A call that the model makes. `raw` is for argument texts that no object can spell, such as broken JSON.

    A tool that the request does not offer is a mistake in the script, unless the call says `offered=False`: models make
    names up too.
    """

    name: str
    arguments: JsonObject = field(default_factory=dict)
    call_id: str = ""
    raw: str | None = None
    offered: bool = True


class Answer(Struct, frozen=True, forbid_unknown_fields=True):
    """One answer of the model: what it says, thinks and calls, and how it ends. `failure` instead of all that.

    `go_away`: before this answer, a live connection announces that it will close in so many seconds.
    """

    text: str = ""
    calls: tuple[Ask, ...] = ()
    reasoning: str = ""
    refusal: str = ""
    finish: FinishReason | None = None
    failure: Failure | None = None
    go_away: float | None = None


class Rule(Struct, frozen=True, forbid_unknown_fields=True):
    """An answer for a last message (the user's, or a tool's result) that the pattern is found in."""

    pattern: str
    answer: Answer | str


class Script(Struct, frozen=True, forbid_unknown_fields=True):
    answers: tuple[Answer | str, ...] = ()
    rules: tuple[Rule, ...] = ()


def load_rules(address: str) -> Callable[[ModelRequest], Answer]:
    """The function that `module:name` means to Python."""
    module, _, name = address.partition(":")
    try:
        found: Callable[[ModelRequest], Answer] = getattr(import_module(module), name)
    except (ImportError, AttributeError, ValueError) as error:
        raise ConfigError(f"The script {address!r} cannot be found: {error}", hint="a file, or module:name") from None
    if not callable(found):
        raise ConfigError(f"The script {address!r} is no function.")
    return found


def is_function(script: str) -> bool:
    """Whether a script is named as `module:name`, and is no file."""
    return re.fullmatch(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*", script) is not None and not Path(script).exists()


def read_script(path: str | Path) -> Script:
    """What the file says; TOML if its name ends so, else JSON."""
    file = Path(path)
    try:
        data = file.read_bytes()
    except OSError as error:
        raise ConfigError(f"The script {file} cannot be read: {error.strerror}.") from None
    is_toml = file.suffix.lower() == ".toml"
    try:
        script = msgspec.convert(tomllib.loads(data.decode()) if is_toml else msgspec.json.decode(data), Script)
    except msgspec.ValidationError as error:
        raise ConfigError(f"{file.name} is no script: {error}", hint="a script has answers and rules") from None
    except (msgspec.DecodeError, tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        form = "TOML" if is_toml else "JSON"
        raise ConfigError(f"{file.name} is no script: it is not {form}: {error}") from None
    for rule in script.rules:
        try:
            re.compile(rule.pattern)
        except re.error as error:
            raise ConfigError(f"{file.name} is no script: {rule.pattern!r} is no pattern: {error}") from None
    return script
