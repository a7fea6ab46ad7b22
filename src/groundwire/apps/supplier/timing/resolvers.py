"""From a matched phrase to a moment: what its hours, days, weeks and dates mean when they are said.

The phrases themselves are in `phrases`.
"""

import re
from calendar import monthrange
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TypeAlias

from groundwire.apps.supplier.reading.numbers import parse_number
from groundwire.apps.supplier.timing import moments
from groundwire.apps.supplier.timing.calendars import Calendar
from groundwire.apps.supplier.timing.moments import DayPart


@dataclass(frozen=True)
class Said:
    """A phrase, when it was said, and by which calendar."""

    match: re.Match[str]
    now: datetime
    calendar: Calendar


Resolve: TypeAlias = Callable[[Said], datetime | None]
"""None for what is no moment after all: 32号."""

AT_TEN = timedelta(hours=10)
_PARTS: dict[str, DayPart] = {
    "一早": moments.EARLY,
    "大早": moments.EARLY,
    "早上": moments.EARLY,
    "早晨": moments.EARLY,
    "早": moments.EARLY,
    "上午": moments.FORENOON,
    "中午": moments.NOON,
    "午饭后": moments.NOON,
    "下午": moments.AFTERNOON,
    "傍晚": moments.LEAVING,
    "下班前": moments.LEAVING,
    "下班": moments.LEAVING,
    "晚上": moments.EVENING,
    "晚": moments.EVENING,
}
_DAYS = {"大": 3, "后": 2, "明": 1, "今": 0}
_WEEKDAYS = dict(zip("一二三四五六日天", (0, 1, 2, 3, 4, 5, 6, 6), strict=True))


def _clock_of(match: re.Match[str]) -> timedelta | None:
    """From midnight; None without a clock time, or with one that does not exist."""
    groups = match.groupdict()
    if not groups.get("hour"):
        return None
    number = parse_number(groups["hour"])
    hour, part = int(number or 0), groups.get("part") or ""
    if number is None or hour > 24:
        return None
    afternoon = part in {"下午", "傍晚", "晚上", "晚"} or (part == "中午" and hour < 4)
    if (afternoon and hour <= 12 and not (part == "下午" and hour == 12)) or (not part and 1 <= hour <= 7):
        hour += 12
    minutes = 30 if groups["half"] else {"一": 15, "三": 45}.get((groups["quarter"] or " ")[0], 0)
    minutes = int(groups["minutes"] or groups["clock"] or minutes)
    return timedelta(hours=hour, minutes=minutes) if minutes < 60 else None


def _time_of_day(match: re.Match[str]) -> timedelta:
    part = _PARTS.get(match["part"] or "")
    usual = timedelta(hours=part.at.hour, minutes=part.at.minute) if part else AT_TEN
    return _clock_of(match) or usual


def resolve_day(said: Said) -> datetime | None:
    days, clock, part = _DAYS[said.match["day"][0]], _clock_of(said.match), _PARTS.get(said.match["part"] or "")
    if not days:
        if clock is not None:
            return moments.at_clock(said.now, clock, today=True)
        return moments.in_part(said.now, part, today=True) if part else None
    if clock is None and part is None:
        return said.now + timedelta(days=days)
    midnight = said.now.replace(hour=0, minute=0, second=0, microsecond=0)
    return midnight + timedelta(days=days) + _time_of_day(said.match)


def resolve_weekday(said: Said) -> datetime | None:
    named = (said.match["week"] or "").removesuffix("个")
    weeks = {"下下": 2, "下": 1, "这": 0, "本": 0}.get(named)
    return moments.on_weekday(said.now, _WEEKDAYS[said.match["weekday"]], weeks, _time_of_day(said.match))


def resolve_date(said: Said) -> datetime | None:
    day, month = parse_number(said.match["date"]), said.match["month"] or ""
    if day is None:
        return None
    if month.startswith("下"):
        return moments.on_day_of_month(said.now, int(day), _time_of_day(said.match), months=1)
    if month:
        return moments.on_date(said.now, int(parse_number(month) or 0), int(day), _time_of_day(said.match))
    return moments.on_day_of_month(said.now, int(day), _time_of_day(said.match))


def resolve_clock(said: Said) -> datetime | None:
    clock = _clock_of(said.match)
    return None if clock is None else moments.at_clock(said.now, clock, today=False)


def resolve_part(said: Said) -> datetime | None:
    return moments.in_part(said.now, _PARTS[said.match["part"]], today=False)


def resolve_month(said: Said) -> datetime | None:
    """三月底, 5月初: a part of a month that is named."""
    month = int(parse_number(said.match["month"]) or 0)
    if not 1 <= month <= 12:
        return None
    day = {"初": 1, "中": 15}.get(said.match["third"], monthrange(2026, month)[1])
    return moments.on_date(said.now, month, day, AT_TEN)


def resolve_office(said: Said) -> datetime | None:
    opens, closes = parse_number(said.match["opens"]), parse_number(said.match["closes"])
    if opens is None or closes is None or opens >= 24 or closes > 24:
        return None
    if closes <= 12 and (said.match["evening"] or closes <= opens):
        closes += 12
    start = timedelta(hours=int(opens), minutes=30 if said.match["half"] else 0)
    return moments.after_opening(said.now, start, timedelta(hours=int(closes))) if closes > opens else None


def wait_for(unit: timedelta) -> Resolve:
    """So many units, taking the later end of a range."""

    def resolve(said: Said) -> datetime | None:
        groups = said.match.groupdict()
        last = groups["pair"][-1] if groups.get("pair") else groups.get("high") or groups.get("low") or ""
        count = parse_number(last)
        if count is None or count > 100_000:
            return None
        half = unit / 2 if groups.get("half") else timedelta()
        return moments.after(said.now, unit * float(count) + half)

    return resolve


def after_time(**wait: float) -> Resolve:
    return lambda said: said.now + timedelta(**wait)


def resolve_workdays(said: Said) -> datetime | None:
    count = parse_number(said.match.groupdict().get("high") or said.match["low"])
    return None if count is None else moments.after_workdays(said.now, int(count), said.calendar)


def after_festival(name: str) -> Resolve:
    return lambda said: moments.after_holiday(said.now, name, said.calendar)
