"""Finds numbers as people write them: digits of any script and width, separators, percentages, Chinese numerals. Pure.

A number may have several readings (5% is 5 and 0.05). English number words are not read.
"""

import re
import unicodedata
from collections.abc import Iterator
from decimal import Context, Decimal
from typing import NamedTuple

_DIGITS = {
    sign: value
    for value, signs in enumerate(("零〇", "一壹", "二两贰兩", "三叁", "四肆", "五伍", "六陆", "七柒", "八捌", "九玖"))
    for sign in signs
}
_UNITS = {"十": 10, "拾": 10, "百": 100, "佰": 100, "千": 1000, "仟": 1000}
_MYRIADS = {"万": 10**4, "萬": 10**4, "亿": 10**8, "億": 10**8}
_SCALES = {**_UNITS, **_MYRIADS}
_LETTERS = {"k": 1000, "w": 10**4}
"""Informal: 5k and, in Chinese, 5w. Both may also be something else."""

_DIGIT = "".join(_DIGITS)
_SCALE = "".join(_SCALES)
_NUMBER = re.compile(
    # A comma only separates thousands in front of exactly three digits. No part can match in two ways: it stays linear.
    r"(?P<digits>(?:\d{1,3}(?!\d)(?:,\d{3}(?!\d))+|\d+)(?:\.\d+)?|(?<!\d)\.\d+)"
    rf"(?:\s?(?P<scale>[{_SCALE}]+)|(?P<letter>[kKwW])(?![A-Za-z]))?"
    rf"|(?P<numeral>[{_DIGIT}十拾][{_DIGIT}{_SCALE}]*)(?:点(?P<fraction>[{_DIGIT}]+))?"
    r"|(?P<half>半)"
)
_PERCENT = re.compile(r"\s?%")
_PARTS = re.compile(rf"(?:块|元|点)(\d{{1,2}}(?![\d.])|[{_DIGIT}](?![{_DIGIT}{_SCALE}]))(?:毛|角)?")
"""What follows the whole part of a price or a decimal: 5块5 is 5.5."""
_COINS = re.compile(r"[毛角]|分(?!钟)")
_COIN_VALUES = {"毛": Decimal("0.1"), "角": Decimal("0.1"), "分": Decimal("0.01")}
_PER_HUNDRED = Decimal("0.01")
_EXACT = Context(prec=1000)
"""For arithmetic: the default context would round long numbers."""
_LONGEST = 100
"""Characters of a number. A longer one has no reading."""


class SaidNumber(NamedTuple):
    """Where a number stands in its text with what belongs to it (a sign, a unit of counting), and what it may mean."""

    start: int
    end: int
    readings: frozenset[Decimal]


def find_numbers(text: str) -> Iterator[SaidNumber]:
    """Find every number of a text, in their order."""
    folded, places = _fold(text)
    for found in _NUMBER.finditer(folded):
        start, end, readings = *found.span(), frozenset[Decimal]()
        if len(found[0]) <= _LONGEST:
            start, end, readings = _read(folded, found)
        yield SaidNumber(places[start], places[end - 1] + 1, readings)


def _fold(text: str) -> tuple[str, list[int]]:
    """The text as it looks (in the width of ASCII, without invisible characters), and the place of each character in it."""
    if text.isascii():
        return text, list(range(len(text)))
    folded: list[str] = []
    places: list[int] = []
    for place, sign in enumerate(text):
        if unicodedata.category(sign) != "Cf":
            for plain in unicodedata.normalize("NFKC", sign):
                folded.append("-" if plain == "\N{MINUS SIGN}" else plain)
                places.append(place)
    return "".join(folded), places


def _read(text: str, found: "re.Match[str]") -> tuple[int, int, frozenset[Decimal]]:
    start, end = found.span()
    numbers = frozenset(_values(found))
    if percent := _PERCENT.match(text, end):
        end = percent.end()
        numbers |= _times(numbers, _PER_HUNDRED)
    elif text.endswith("百分之", 0, start):
        start -= len("百分之")
        numbers |= _times(numbers, _PER_HUNDRED)
    elif parts := _PARTS.match(text, end):
        fraction = Decimal(f"0.{''.join(str(_DIGITS.get(sign, sign)) for sign in parts[1])}")
        end = parts.end()
        numbers |= {_EXACT.add(number, fraction) for number in numbers}
    elif coin := _COINS.match(text, end):
        end = coin.end()
        numbers |= _times(numbers, _COIN_VALUES[coin[0]])
    before = text[start - 1 : start]
    if before == "-":
        ahead = text[start - 2 : start - 1] if start > 1 else ""
        if not ahead.isalnum():
            start, numbers = start - 1, _negated(numbers)
        elif not ahead.isdigit():  # a hyphen, or a sign; after a digit it is the dash of a range
            numbers |= _negated(numbers)
    elif before in ("负", "負"):
        start, numbers = start - 1, _negated(numbers)
    return start, end, numbers


def _times(numbers: frozenset[Decimal], factor: Decimal) -> frozenset[Decimal]:
    return frozenset(_EXACT.multiply(number, factor) for number in numbers)


def _negated(numbers: frozenset[Decimal]) -> frozenset[Decimal]:
    return frozenset(number.copy_negate() for number in numbers)


def _values(found: "re.Match[str]") -> Iterator[Decimal]:
    if found["half"]:
        yield Decimal("0.5")
    elif found["numeral"]:
        fraction = "".join(str(_DIGITS[sign]) for sign in found["fraction"] or "")
        for number in _read_numeral(found["numeral"]):
            yield Decimal(f"{number}.{fraction}" if fraction else number)
    else:
        counted = Decimal(found["digits"].replace(",", ""))
        for sign in found["scale"] or "":
            counted = _EXACT.multiply(counted, _SCALES[sign])
        yield counted
        if found["letter"]:
            yield _EXACT.multiply(counted, _LETTERS[found["letter"].lower()])


def _read_numeral(numeral: str) -> Iterator[int]:
    """五百 is 500, 一千二 is 1200, 二〇二六 is 2026; 两三 is 2 or 3, and so for 两三百."""
    scales = numeral.lstrip(_DIGIT)
    digits = numeral[: len(numeral) - len(scales)]
    if len(digits) == 2 and not scales.strip(_SCALE):
        factor = 1
        for sign in scales:
            factor *= _SCALES[sign]
        yield from (_DIGITS[sign] * factor for sign in digits)
    if not scales:
        yield int("".join(str(_DIGITS[sign]) for sign in digits))
    elif len(digits) < 2 or digits[0] in "零〇":
        yield _read_scaled(numeral)


def _read_scaled(numeral: str) -> int:
    total = section = digit = 0
    last = 1
    for sign in numeral:
        if sign in _DIGITS:
            digit = _DIGITS[sign]
            if not digit:  # 一千零二 is 1002, and not 1200
                last = 1
        elif sign in _UNITS:
            section += (digit or 1) * _UNITS[sign]
            digit, last = 0, _UNITS[sign]
        else:
            scale = _MYRIADS[sign]
            total = (total + section + digit) * scale if scale > total else total + (section + digit) * scale
            section, digit, last = 0, 0, scale
    return total + section + digit * max(last // 10, 1)
