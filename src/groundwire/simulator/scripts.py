"""Scripts in files: what a scripted model says, as JSON or TOML.

{"answers": [{"calls": [{"name": "get_weather", "arguments": {"city": "Tokyo"}}]}, "It is sunny."],
 "rules": [{"pattern": "refund", "answer": {"text": "I will look that up."}}]}
"""

import re
import tomllib
from pathlib import Path

import msgspec
from msgspec import Struct

from groundwire.contracts.errors import ConfigError
from groundwire.providers.scripted import Answer, Rule, ScriptedModel


class _Script(Struct, frozen=True, forbid_unknown_fields=True):
    answers: tuple[Answer | str, ...] = ()
    rules: tuple[Rule, ...] = ()


def read_script(path: str | Path) -> ScriptedModel:
    """The model that the file describes; TOML if its name ends so, else JSON."""
    file = Path(path)
    try:
        data = file.read_bytes()
    except OSError as error:
        raise ConfigError(f"The script {file} cannot be read: {error.strerror}.") from None
    try:
        if file.suffix.lower() == ".toml":
            script = msgspec.convert(tomllib.loads(data.decode()), _Script)
        else:
            script = msgspec.json.decode(data, type=_Script)
    except (msgspec.DecodeError, msgspec.ValidationError, tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{file.name} is no script: {error}", hint="a script has answers and rules") from None
    for rule in script.rules:
        try:
            re.compile(rule.pattern)
        except re.error as error:
            raise ConfigError(f"{file.name} is no script: {rule.pattern!r} is no pattern: {error}") from None
    return ScriptedModel(*script.answers, rules=script.rules)
