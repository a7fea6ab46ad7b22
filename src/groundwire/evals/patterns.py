"""Patterns that checks and simulated users have, matched in one pass, so that no answer of a model can make it hang."""

from collections.abc import Callable

from jsonschema_rs import Draft202012Validator, RegexOptions

from groundwire.contracts.errors import ConfigError


def compile_pattern(pattern: str) -> Callable[[str], bool]:
    """Whether a text contains what the pattern describes. What one pass cannot match is refused."""
    try:
        return Draft202012Validator({"pattern": pattern}, pattern_options=RegexOptions()).is_valid
    except ValueError:
        hint = "as in a JSON Schema, without look-around and back-references"
        raise ConfigError(f"{pattern!r:.200} is no pattern.", hint=hint) from None
