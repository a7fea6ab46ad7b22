"""Which names a tool may have. Knows nothing of providers: what each of them refuses is advice, given by `lint`."""

import re

from groundwire.contracts.errors import RegistryError

MAX_NAME = 256
PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*(\.[A-Za-z0-9_-]+)*")
PLAIN_LENGTH = 128


def is_plain(name: str) -> bool:
    """True for names that nobody needs advice about."""
    return len(name) <= PLAIN_LENGTH and PLAIN_NAME.fullmatch(name) is not None


def check_name(name: object) -> str:
    """Accept whatever can be shown and looked up: clients and other servers bring names that we did not choose."""
    if not isinstance(name, str):
        raise RegistryError(f"A tool's name is a text, not {type(name).__name__}.", reason="invalid_name")
    if not name or len(name) > MAX_NAME:
        raise RegistryError(f"A tool's name has 1 to {MAX_NAME} characters, not {len(name)}.", reason="invalid_name")
    if not name.isprintable() or " " in name:
        raise RegistryError(
            f"The tool name {name!r} holds white space or unprintable characters.",
            reason="invalid_name",
            hint="Use letters, digits and underscores, with dots between parts.",
        )
    return name
