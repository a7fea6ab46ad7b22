"""From the parts of a phrase to a moment: parts of the day, weekdays, dates, months and holidays.

Each function gives a moment after `now`, and a later `now` never gives an earlier one. They know no wording.
"""

from calendar import monthrange
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta

from groundwire.apps.supplier.timing.calendars import ONE_DAY, SHANGHAI, Calendar

A_MOMENT = timedelta(minutes=30)
MORNING = time(10)
"""What a bare date, weekday or week means."""
END_OF_WORK = time(17, 30)
LATE = time(22)
LONGEST = timedelta(days=3660)
"""Nobody promises an answer for later than this."""


@dataclass(frozen=True, kw_only=True)
class DayPart:
    """When it is taken to be, and when it is over."""

    at: time
    over: time


EARLY = DayPart(at=time(9), over=time(10))
FORENOON = DayPart(at=time(10), over=time(12))
NOON = DayPart(at=time(12), over=time(13, 30))
AFTERNOON = DayPart(at=time(15), over=time(18))
LEAVING = DayPart(at=END_OF_WORK, over=LATE)
EVENING = DayPart(at=time(20), over=LATE)


def at(day: date, clock: time = MORNING) -> datetime:
    return datetime.combine(day, clock, SHANGHAI)


def first_after(now: datetime, moments: Iterable[datetime]) -> datetime | None:
    return next((moment for moment in moments if moment > now), None)


def after(now: datetime, wait: timedelta) -> datetime | None:
    return now + wait if timedelta() < wait <= LONGEST else None


def in_part(now: datetime, part: DayPart, *, today: bool) -> datetime:
    """Today if it is not over; then at once if they said today, else tomorrow."""
    day = now.date()
    late = now + A_MOMENT if today else at(day + ONE_DAY, part.at)
    return first_after(now, (at(day, part.at), at(day, part.over))) or late


def at_clock(now: datetime, clock: timedelta, *, today: bool) -> datetime:
    """`clock` counts from midnight, and may be 24 hours."""
    moment = at(now.date(), time()) + clock
    if moment > now:
        return moment
    return now + A_MOMENT if today else moment + ONE_DAY


def on_weekday(now: datetime, weekday: int, weeks: int | None, clock: timedelta) -> datetime:
    """`weeks` from this one; without a number, the next such day to come. A day of this week ends with its work."""
    day = _monday(now) + timedelta(days=weekday, weeks=weeks or 0)
    moment = at(day, time()) + clock
    ends = (at(day, END_OF_WORK), at(day, LATE)) if weeks == 0 else ()
    return first_after(now, (moment, *ends)) or moment + timedelta(weeks=1)


def in_week(now: datetime, weeks: int) -> datetime:
    return at(_monday(now) + timedelta(weeks=weeks))


def within_week(now: datetime) -> datetime:
    monday = _monday(now)
    friday, sunday = monday + timedelta(days=4), monday + timedelta(days=6)
    end = at(monday + timedelta(weeks=1), time())
    return first_after(now, (at(friday, END_OF_WORK), at(sunday, END_OF_WORK))) or end


def at_weekend(now: datetime, weeks: int = 0) -> datetime:
    saturday = _monday(now) + timedelta(days=5, weeks=weeks)
    days = (saturday, saturday + ONE_DAY, saturday + timedelta(weeks=1))
    return first_after(now, map(at, days)) or at(days[-1])


def on_day_of_month(now: datetime, day: int, clock: timedelta, months: int | None = None) -> datetime | None:
    """The next such day to come, or the one of the month that is `months` away."""
    if not 1 <= day <= 31:
        return None
    ahead = range(13) if months is None else (months,)
    candidates = (_day_of(now, count, day) for count in ahead)
    return first_after(now, (at(found, time()) + clock for found in candidates if found))


def on_date(now: datetime, month: int, day: int, clock: timedelta) -> datetime | None:
    candidates = (_make_date(year, month, day) for year in range(now.year, now.year + 9))
    return first_after(now, (at(found, time()) + clock for found in candidates if found))


def at_month_end(now: datetime, months: int = 0) -> datetime:
    last, later = _month_end(now, months), _month_end(now, months + 1)
    return first_after(now, (at(last), at(last, END_OF_WORK))) or at(later)


def after_workdays(now: datetime, count: int, calendar: Calendar) -> datetime | None:
    """By the end of the last of them: a day off has no time of day to keep."""
    if not 1 <= count <= 250:
        return None
    day = now.date()
    for _ in range(count):
        day = calendar.next_workday(day)
    return at(day, END_OF_WORK)


def later_today(now: datetime, calendar: Calendar) -> datetime:
    """In four hours; from four in the afternoon on, and on days off, the next working morning."""
    day = now.date()
    if not calendar.is_workday(day) or now.time() > time(16):
        return at(calendar.next_workday(day))
    return max(now + timedelta(hours=4), at(day))


def after_holiday(now: datetime, name: str, calendar: Calendar) -> datetime | None:
    """The first workday after the holiday of this name, or after whichever is next."""
    for holiday in calendar.holidays_from(now.year):
        if name in {"", holiday.name}:
            moment = at(calendar.next_workday(holiday.last))
            if moment > now:
                return moment
    return None


def before_holiday(now: datetime, name: str, calendar: Calendar) -> datetime | None:
    """The last workday before it."""
    for holiday in calendar.holidays_from(now.year):
        if name in {"", holiday.name} and holiday.first > now.date():
            day = calendar.last_workday(holiday.first)
            if moment := first_after(now, (at(day), at(day, END_OF_WORK))):
                return moment
    return None


def after_lantern(now: datetime, calendar: Calendar) -> datetime:
    year = now.year
    while (moment := at(calendar.next_workday(calendar.year(year).lantern))) <= now:
        year += 1
    return moment


def after_opening(now: datetime, opens: timedelta, closes: timedelta) -> datetime:
    """Half an hour after somebody is there."""
    midnight = at(now.date(), time())
    if now >= midnight + closes:
        return midnight + ONE_DAY + opens + A_MOMENT
    return max(now, midnight + opens) + A_MOMENT


def _monday(now: datetime) -> date:
    return now.date() - timedelta(days=now.weekday())


def _make_date(year: int, month: int, day: int) -> date | None:
    try:
        return date(year, month, day)
    except ValueError:
        return None


def _day_of(now: datetime, months: int, day: int) -> date | None:
    years, month = divmod(now.month - 1 + months, 12)
    return _make_date(now.year + years, month + 1, day)


def _month_end(now: datetime, months: int) -> date:
    years, month = divmod(now.month - 1 + months, 12)
    year = now.year + years
    return date(year, month + 1, monthrange(year, month + 1)[1])
