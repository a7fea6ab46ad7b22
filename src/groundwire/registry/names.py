"""Which names a tool may have. Knows nothing of providers: what each of them refuses is advice, given by `lint`."""

import re

from groundwire.contracts.errors import RegistryError

MAX_NAME = 256
PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*(\.[A-Za-z0-9_-]+)*")
PLAIN_LENGTH = 128


def is_plain(name: str) -> bool:
    """True for names that nobody needs advice about."""
    return len(name) <= PLAIN_LENGTH and PLAIN_NAME.fullmatch(name) is not None


def name_fault(name: object) -> str:
    """What is wrong with a name; nothing with whatever can be shown and looked up.

    Clients and other servers bring names that we did not choose.
    """
    if not isinstance(name, str):
        return f"A tool's name is a text, not {type(name).__name__}."
    if not 1 <= len(name) <= MAX_NAME:
        return f"A tool's name has 1 to {MAX_NAME} characters, not {len(name)}."
    if not name.isprintable() or " " in name:
        return f"The tool name {name!r} holds white space or unprintable characters."
    return ""


def check_name(name: str) -> str:
    if fault := name_fault(name):
        hint = "Use letters, digits and underscores, with dots between parts."
        raise RegistryError(fault, reason="invalid_name", hint=hint)
    return name
