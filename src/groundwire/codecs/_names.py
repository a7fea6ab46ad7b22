"""Providers' rules for tool names and descriptions, as warnings: a name is never refused or changed here."""

import re

from msgspec import Struct

from groundwire.codecs._conversions import SchemaWarning


class NameRule(Struct, frozen=True, kw_only=True):
    """What a provider takes as a tool name: a first character, further characters, and a length."""

    first: str
    further: str
    max_length: int


def lint_tool_name(name: str, rule: NameRule) -> tuple[SchemaWarning, ...]:
    found: list[SchemaWarning] = []
    if not re.fullmatch(f"({rule.first}{rule.further}*)?", name):
        message = f"The name {name!r} must be {rule.first} followed by any of {rule.further}."
        found.append(SchemaWarning(code="name_characters", path="/name", message=message))
    if not 1 <= len(name) <= rule.max_length:
        message = f"The name has {len(name)} characters; 1 to {rule.max_length} are allowed."
        found.append(SchemaWarning(code="name_length", path="/name", message=message))
    return tuple(found)


def lint_description(description: str, max_length: int) -> tuple[SchemaWarning, ...]:
    if len(description) <= max_length:
        return ()
    message = f"The description has {len(description)} characters; some servers refuse more than {max_length}."
    return (SchemaWarning(code="description_length", path="/description", message=message),)
