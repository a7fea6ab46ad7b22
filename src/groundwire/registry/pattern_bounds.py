"""Measures how much work a regular expression can make, without compiling it.

Patterns run on an engine that reads a text once and follows all ways to match at the same time. Its work per character
is the number of ways that can be alive at once, so that number is bounded. Knows nothing of schemas.
"""

import re
from dataclasses import dataclass, field

UNBOUNDED = 1 << 40
MAX_ATOMS = 20_000
"""Atoms of one pattern, repetitions written out, beyond which it is not measured further."""

MAX_LOOKAHEADS = 16
_LOOKAHEADS = ("(?=", "(?!")
_WIDE = 12
"""States of a class that takes most characters: UTF-8 needs several for each (measured: 1 kB against 80 bytes)."""
_PROPERTY = 600
"""States of a Unicode property such as \\p{L} (measured: 45 kB)."""
_FEW = 4
_EVERYTHING = frozenset({"\\s\\S", "\\S\\s", "\\d\\D", "\\D\\d", "\\w\\W", "\\W\\w", "^"})
_COUNT = re.compile(r"\{(\d{1,9})(?:(,)(\d{1,9})?)?\}")
_CODE = re.compile(r"\{[0-9A-Fa-f]{1,8}\}|[0-9A-Fa-f]{2,4}")
_GROUP_START = re.compile(r"\?(?:P?<[A-Za-z_][A-Za-z0-9_]*>|[a-zA-Z]*(?:-[a-zA-Z]+)?:)")
_FLAGS = re.compile(r"\?[a-zA-Z]*(?:-[a-zA-Z]+)?\)")


class NeedsBacktracking(Exception):
    """The pattern has look-around or a back-reference, which no engine can match in one pass."""


class TooManyAtoms(Exception):
    """The pattern, with its repetitions written out, has more than MAX_ATOMS atoms."""


@dataclass(slots=True)
class PatternCost:
    """`threads` is the number of ways that can be alive at one character; `states` what the compiled form takes."""

    threads: int
    states: int


@dataclass(slots=True)
class _Piece:
    """A part of a pattern: its length, and for each atom the earliest and latest place at which it can be tried."""

    shortest: int = 0
    longest: int = 0
    places: list[tuple[int, int]] = field(default_factory=list)
    states: int = 0
    anchored: bool = False


def measure_pattern(pattern: str) -> PatternCost:
    """Measure a pattern; raises NeedsBacktracking or TooManyAtoms. Validity is not checked: compiling does that."""
    whole = _PatternReader(pattern).read()
    if not whole.anchored:  # a match may begin at any character, so every atom may be tried at any
        return PatternCost(len(whole.places) + 1, whole.states)
    events = sorted([(first, 1) for first, _ in whole.places] + [(last + 1, -1) for _, last in whole.places])
    alive = most = 0
    for _, change in events:
        alive += change
        most = max(most, alive)
    return PatternCost(most, whole.states)


def split_lookaheads(pattern: str) -> tuple[list[tuple[bool, str]], str]:
    """Take the look-aheads off the start of a pattern: `^(?=A)(?!B)C` is `^A`, not `^B`, and `^C`.

    Returns each with whether it must match, and the rest of the pattern. A pattern without any is returned unchanged.
    """
    found: list[tuple[bool, str]] = []
    rest = pattern.removeprefix("^")
    if rest == pattern or not rest.startswith(_LOOKAHEADS) or _has_alternatives(pattern):
        return found, pattern
    while rest.startswith(_LOOKAHEADS):
        end = _end_of_group(rest)
        if end is None or len(found) == MAX_LOOKAHEADS:
            return [], pattern
        found.append((rest[2] == "=", f"^(?:{rest[3:end]})"))
        rest = rest[end + 1 :]
    return (found, f"^{rest}") if found else ([], pattern)


def _has_alternatives(pattern: str) -> bool:
    depth = 0
    for sign in _signs(pattern):
        depth += (sign == "(") - (sign == ")")
        if sign == "|" and depth == 0:
            return True
    return False


def _end_of_group(text: str) -> int | None:
    """Where the group at the start of the text ends; None if it is not closed."""
    depth = place = 0
    for sign in _signs(text):
        depth += (sign == "(") - (sign == ")")
        place += len(sign)
        if depth == 0:
            return place - 1
    return None


def _signs(pattern: str) -> list[str]:
    """The pattern as a list of signs: an escape is one, and so is a whole class."""
    return re.findall(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|.", pattern, re.DOTALL)


class _PatternReader:
    """A recursive descent over the pattern."""

    def __init__(self, pattern: str) -> None:
        self._pattern = pattern
        self._place = 0
        self._depth = 0

    def read(self) -> _Piece:
        whole = self._alternatives()
        while self._place < len(self._pattern):  # a bracket too many; the engine will refuse the pattern
            self._place += 1
            whole = _joined(whole, self._alternatives())
        return whole

    def _alternatives(self) -> _Piece:
        branches = [self._sequence()]
        while self._next("|"):
            branches.append(self._sequence())
        if len(branches) == 1:
            return branches[0]
        return _Piece(
            min(branch.shortest for branch in branches),
            max(branch.longest for branch in branches),
            _capped([place for branch in branches for place in branch.places]),
            sum(branch.states for branch in branches),
            all(branch.anchored for branch in branches),
        )

    def _sequence(self) -> _Piece:
        piece = _Piece()
        while self._place < len(self._pattern) and self._pattern[self._place] not in "|)":
            piece = _joined(piece, self._quantified(self._atom()))
        return piece

    def _quantified(self, piece: _Piece) -> _Piece:
        while self._place < len(self._pattern):
            sign = self._pattern[self._place]
            if sign in "*+?":
                piece = _repeated(piece, 1 if sign == "+" else 0, 1 if sign == "?" else UNBOUNDED)
                self._place += 1
            elif sign == "{" and (count := _COUNT.match(self._pattern, self._place)):
                low = int(count[1])
                high = low if count[2] is None else UNBOUNDED if count[3] is None else int(count[3])
                piece = _repeated(piece, low, high)
                self._place = count.end()
            else:
                break
        return piece

    def _atom(self) -> _Piece:
        sign = self._pattern[self._place]
        self._place += 1
        if sign == "(":
            return self._group()
        if sign == "[":
            return self._class()
        if sign == "\\":
            return self._escape()
        if sign in "^$":
            return _Piece(anchored=sign == "^")
        if sign == ".":
            return _one(_WIDE)
        return _one(1 if sign.isascii() else _FEW)

    def _group(self) -> _Piece:
        if self._pattern.startswith(("?=", "?!", "?<=", "?<!", "?>"), self._place):
            raise NeedsBacktracking
        if flags := _FLAGS.match(self._pattern, self._place):
            self._place = flags.end()
            return _Piece()
        if start := _GROUP_START.match(self._pattern, self._place):
            self._place = start.end()
        self._depth += 1
        if self._depth > 100:
            raise TooManyAtoms
        inside = self._alternatives()
        self._depth -= 1
        self._next(")")
        return inside

    def _class(self) -> _Piece:
        end = self._place
        depth = 1
        if self._pattern[end : end + 1] == "^":
            end += 1
        if self._pattern[end : end + 1] == "]":
            end += 1
        while end < len(self._pattern) and depth:
            sign = self._pattern[end]
            depth += (sign == "[") - (sign == "]")
            end += 2 if sign == "\\" else 1
        inside = self._pattern[self._place : end - 1]
        self._place = end
        if "\\p" in inside or "\\P" in inside:
            return _one(_PROPERTY)
        if inside in _EVERYTHING:
            return _one(_WIDE)
        is_wide = inside.startswith("^") or any(escape in inside for escape in ("\\S", "\\D", "\\W", "\\s"))
        return _one(2 * _WIDE if is_wide else 1 if inside.isascii() and "\\u" not in inside else _FEW)

    def _escape(self) -> _Piece:
        sign = self._pattern[self._place : self._place + 1]
        self._place += 1
        if not sign:  # a backslash at the end; the engine will refuse the pattern
            return _Piece()
        if sign in "bBAzZG":
            return _Piece(anchored=sign == "A")
        if sign in "123456789k":
            raise NeedsBacktracking
        if sign in "pP":
            end = self._pattern.find("}", self._place)
            self._place = (
                end + 1 if self._pattern[self._place : self._place + 1] == "{" and end > 0 else self._place + 1
            )
            return _one(_PROPERTY)
        if sign in "xu":
            digits = _CODE.match(self._pattern, self._place)
            self._place = digits.end() if digits else self._place
            return _one(_FEW)
        return _one(2 * _WIDE if sign in "SDWs" else 1)

    def _next(self, sign: str) -> bool:
        found = self._pattern[self._place : self._place + 1] == sign
        self._place += found
        return found


def _one(states: int) -> _Piece:
    return _Piece(1, 1, [(0, 0)], states)


def _joined(left: _Piece, right: _Piece) -> _Piece:
    if not left.places:
        anchored = left.anchored or right.anchored
        return _Piece(right.shortest, right.longest, right.places, right.states, anchored)
    places = left.places
    places.extend(_moved(right.places, left.shortest, left.longest))
    return _Piece(
        left.shortest + right.shortest,
        min(left.longest + right.longest, UNBOUNDED),
        _capped(places),
        left.states + right.states,
        left.anchored,
    )


def _repeated(piece: _Piece, low: int, high: int) -> _Piece:
    if not piece.places:
        return piece
    copies = max(low, 1) if high == UNBOUNDED else max(high, 1)
    if copies * len(piece.places) > MAX_ATOMS:
        raise TooManyAtoms
    places = list(piece.places)
    for copy in range(1, copies):
        places.extend(_moved(piece.places, copy * piece.shortest, min(copy * piece.longest, UNBOUNDED)))
    longest = min(piece.longest * high, UNBOUNDED)
    if high == UNBOUNDED:  # the last copy may come again and again
        latest = len(places) - len(piece.places)
        places[latest:] = [(first, UNBOUNDED) for first, _ in places[latest:]]
    return _Piece(piece.shortest * low, longest, places, copies * piece.states, piece.anchored and low > 0)


def _moved(places: list[tuple[int, int]], shortest: int, longest: int) -> list[tuple[int, int]]:
    return [(first + shortest, min(last + longest, UNBOUNDED)) for first, last in places]


def _capped(places: list[tuple[int, int]]) -> list[tuple[int, int]]:
    if len(places) > MAX_ATOMS:
        raise TooManyAtoms
    return places
