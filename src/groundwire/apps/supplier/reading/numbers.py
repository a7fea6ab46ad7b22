"""Numbers as suppliers type them: 200, 1'000, 1.5万, 1w, 2千5, 两百, 一百二, 十五, 半.

Text comes folded. It knows no units: what a number counts is for others to say.
"""

import re
from decimal import Decimal

DIGIT = "零〇一二两俩三四五六七八九"
_VALUES = dict(zip(DIGIT, (0, 0, 1, 2, 2, 2, 3, 4, 5, 6, 7, 8, 9), strict=True))
_POWERS = {"十": 10, "百": 100, "千": 1000, "万": 10_000}
_SHORT = {"w": 10_000, "k": 1000, "万": 10_000, "千": 1000, "百": 100}

_LATIN = r"(?<![0-9.'])[0-9]{1,9}(?:'[0-9]{3}){0,3}(?:\.[0-9]{1,4})?(?![0-9])"
_SCALE = r"(?:[万千百]|[wWkK](?![A-Za-z]))"
NUMBER = rf"(?:{_LATIN}(?:{_SCALE}(?:[0-9](?![0-9.块元毛角天]))?)?|(?<![{DIGIT}十百千万])[{DIGIT}十百千万]{{1,12}})"
"""A pattern without groups. Bounded everywhere, so that a message of any length is read in linear time."""

_SCALED = re.compile(rf"([0-9]+(?:'[0-9]{{3}})*(?:\.[0-9]+)?)(?:({_SCALE})([0-9])?)?")


def parse_number(text: str) -> Decimal | None:
    """None for what only looks like a number: 两三 is a range, and 百万千 is nothing."""
    if text == "半":
        return Decimal("0.5")
    if not text or text[0] not in "0123456789":
        value = _parse_han(text)
        return None if value is None else Decimal(value)
    match = _SCALED.fullmatch(text)
    if match is None:
        return None
    plain, scale, tail = match.groups()
    power = _SHORT[scale.lower()] if scale else 1
    return Decimal(plain.replace("'", "")) * power + int(tail or 0) * (power // 10)


def spell(value: Decimal) -> str:
    """The shortest plain spelling: 6.5, 200, 0.05."""
    digits = f"{value:f}"
    return digits.rstrip("0").rstrip(".") if "." in digits else digits


def _parse_han(text: str) -> int | None:
    if any(character not in _VALUES and character not in _POWERS for character in text) or not text:
        return None
    if all(character in _VALUES for character in text):
        return _parse_positional(text)
    thousands, _, rest = text.rpartition("万")
    if "万" not in text:
        return _parse_section(text)
    high = _parse_section(thousands) if thousands else None
    if high is None:
        return None
    if len(rest) == 1 and rest in _VALUES:
        return high * 10_000 + _VALUES[rest] * 1000
    low = _parse_section(rest) if rest else 0
    return None if low is None else high * 10_000 + low


def _parse_positional(text: str) -> int | None:
    """二零二六 is a year; 两三 and 三五 are ranges."""
    if len(text) == 1:
        return _VALUES[text]
    return int("".join(str(_VALUES[digit]) for digit in text)) if len(text) >= 3 else None


def _parse_section(text: str) -> int | None:
    """Below ten thousand. A last digit without a power counts in the next lower one: 一百二 is 120."""
    total, digit, last_power, after_zero = 0, None, 10_000, False
    for character in text:
        if character in _VALUES:
            if digit is not None:
                return None
            digit = _VALUES[character] or None
            after_zero = after_zero or digit is None
            continue
        power = _POWERS[character]
        if power >= last_power or (digit is None and (power != 10 or total)):
            return None
        total += (digit or 1) * power
        digit, last_power, after_zero = None, power, False
    if digit is not None:
        total += digit if after_zero or last_power in {10, 10_000} else digit * (last_power // 10)
    return total
