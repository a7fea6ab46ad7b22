"""Which names a tool may have. Knows nothing of providers: what each of them refuses is advice, given by `lint`."""

import re
import unicodedata

from groundwire.contracts.errors import RegistryError

MAX_NAME = 256
PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*(\.[A-Za-z0-9_-]+)*")
PLAIN_LENGTH = 128
_WRITTEN_TOGETHER = (
    {"LATIN", "CJK", "HIRAGANA", "KATAKANA", "KATAKANA-HIRAGANA"},
    {"LATIN", "CJK", "BOPOMOFO"},
    {"LATIN", "CJK", "HANGUL"},
)
"""Scripts that one name may mix, as Unicode's "highly restrictive" level for identifiers has it."""


def is_plain(name: str) -> bool:
    """True for names that nobody needs advice about."""
    return len(name) <= PLAIN_LENGTH and PLAIN_NAME.fullmatch(name) is not None


def name_fault(name: object) -> str:
    """What is wrong with a name; empty if it can be shown, looked up and distinguished from others.

    Clients and other servers bring names that we did not choose. A name must not be a path, and must not mix scripts whose
    letters look alike.
    """
    if not isinstance(name, str):
        return f"A tool's name is a text, not {type(name).__name__}."
    if not 1 <= len(name) <= MAX_NAME:
        return f"A tool's name has 1 to {MAX_NAME} characters, not {len(name)}."
    if not name.isprintable() or " " in name:
        return f"The tool name {name!r} holds white space or unprintable characters."
    if is_plain(name):
        return ""
    if "/" in name or "\\" in name or not all(name.split(".")):
        return f"The tool name {name!r} could be a path: it holds a slash, or a dot with nothing before or behind it."
    if unicodedata.normalize("NFKC", name) != name:
        return f"The tool name {name!r} holds characters that look like others: write {_plain_form(name)!r}."
    scripts = _scripts_of(name)
    if len(scripts) > 1 and not any(scripts <= together for together in _WRITTEN_TOGETHER):
        return f"The tool name {name!a} mixes {' and '.join(sorted(scripts)).title()} letters, which look alike."
    return ""


def _plain_form(name: str) -> str:
    return unicodedata.normalize("NFKC", name)[:MAX_NAME]


def _scripts_of(name: str) -> set[str]:
    """The scripts of its letters. Python does not expose them, but the Unicode name of a letter begins with its script."""
    return {unicodedata.name(letter, "UNKNOWN").partition(" ")[0] for letter in name if letter.isalpha()}


def check_name(name: str) -> str:
    if fault := name_fault(name):
        hint = "Use letters, digits and underscores, with dots between parts."
        raise RegistryError(fault, reason="invalid_name", hint=hint)
    return name
