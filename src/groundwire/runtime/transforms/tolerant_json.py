"""Text that is almost JSON, spelled as JSON: other quotes, Python's literals, line breaks, comments, a last comma.

Only the spelling changes. What is missing is not made up: a text that was cut off, or a bare word, is no JSON after it
either.
"""

import re

from groundwire.contracts.canonical import JsonValue, parse_json
from groundwire.contracts.errors import InvalidJson

_TOKEN = re.compile(
    r"""(?s:
    (?P<skipped>\s++|//[^\n]*+|\#[^\n]*+|/\*(?:[^*]++|\*(?!/))*+\*/)
    |"(?P<double>(?:[^"\\]++|\\.)*+)"
    |'(?P<single>(?:[^'\\]++|\\.)*+)'
    |(?P<mark>[{}\[\]:,])
    |(?P<plain>-?[0-9][0-9.eE+-]*+|[A-Za-z]++)
    )""",
    re.VERBOSE,
)
_INSIDE = re.compile(r"(?s:\\.)|[\"\x00-\x1f]")
_LITERALS = {"True": "true", "False": "false", "None": "null"}


def parse_tolerantly(text: str) -> JsonValue:
    """The one value that the text spells; InvalidJson where that would take a guess."""
    return parse_json(" ".join(_respelled(text)))


def _respelled(text: str) -> list[str]:
    pieces: list[str] = []
    position = 0
    while position < len(text):
        token = _TOKEN.match(text, position)
        if token is None:
            raise InvalidJson(f"unexpected character {text[position]!r} at {position}")
        position = token.end()
        kind, piece = token.lastgroup, token.group()
        if kind == "skipped":
            continue
        if kind in ("double", "single"):
            piece = f'"{_INSIDE.sub(_escaped, token.group(kind))}"'
        elif piece in ("}", "]") and len(pieces) > 1 and pieces[-1] == "," and pieces[-2] not in ("{", "[", ",", ":"):
            pieces.pop()
        pieces.append(_LITERALS.get(piece, piece))
    return pieces


def _escaped(found: re.Match[str]) -> str:
    """What JSON refuses inside a string, as it wants it; other escapes are left for the parser to judge."""
    piece = found.group()
    if piece == "\\'":
        return "'"
    if piece[0] == "\\":
        return piece
    return '\\"' if piece == '"' else f"\\u{ord(piece):04x}"
