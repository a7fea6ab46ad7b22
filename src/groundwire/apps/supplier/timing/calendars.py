"""Chinese public holidays and the weekends that are worked instead, year by year, and the hours of an office.

A year that is not in the table is unknown: nothing is guessed from other years.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta, timezone

SHANGHAI = timezone(timedelta(hours=8), "Asia/Shanghai")
"""China has one zone and no daylight saving."""
ONE_DAY = timedelta(days=1)


class UnknownYear(LookupError):
    """The holidays of this year are not in the table."""

    def __init__(self, year: int) -> None:
        super().__init__(f"The public holidays of {year} are not known.")
        self.year = year


@dataclass(frozen=True, kw_only=True)
class Holiday:
    name: str
    first: date
    last: date


@dataclass(frozen=True, kw_only=True)
class Year:
    """`lantern` is the fifteenth day of the first lunar month."""

    holidays: tuple[Holiday, ...]
    working_weekends: tuple[date, ...]
    lantern: date


YEARS: Mapping[int, Year] = {
    2026: Year(
        holidays=(
            Holiday(name="元旦", first=date(2026, 1, 1), last=date(2026, 1, 3)),
            Holiday(name="春节", first=date(2026, 2, 15), last=date(2026, 2, 23)),
            Holiday(name="清明", first=date(2026, 4, 4), last=date(2026, 4, 6)),
            Holiday(name="五一", first=date(2026, 5, 1), last=date(2026, 5, 5)),
            Holiday(name="端午", first=date(2026, 6, 19), last=date(2026, 6, 21)),
            Holiday(name="中秋", first=date(2026, 9, 25), last=date(2026, 9, 27)),
            Holiday(name="国庆", first=date(2026, 10, 1), last=date(2026, 10, 7)),
        ),
        working_weekends=(
            date(2026, 1, 4),
            date(2026, 2, 14),
            date(2026, 2, 28),
            date(2026, 5, 9),
            date(2026, 9, 20),
            date(2026, 10, 10),
        ),
        lantern=date(2026, 3, 3),
    ),
}


@dataclass(frozen=True, kw_only=True)
class Calendar:
    years: Mapping[int, Year] = field(default_factory=lambda: YEARS)

    def year(self, number: int) -> Year:
        if number not in self.years:
            raise UnknownYear(number)
        return self.years[number]

    def is_workday(self, day: date) -> bool:
        year = self.year(day.year)
        if any(holiday.first <= day <= holiday.last for holiday in year.holidays):
            return False
        return day.weekday() < 5 or day in year.working_weekends

    def next_workday(self, day: date) -> date:
        """The first one after this day."""
        day += ONE_DAY
        while not self.is_workday(day):
            day += ONE_DAY
        return day

    def last_workday(self, day: date) -> date:
        """The last one before this day."""
        day -= ONE_DAY
        while not self.is_workday(day):
            day -= ONE_DAY
        return day

    def holidays_from(self, year: int) -> Iterator[Holiday]:
        """In order. It ends by raising `UnknownYear`, as there is always another holiday."""
        while True:
            yield from self.year(year).holidays
            year += 1


CHINA = Calendar()


@dataclass(frozen=True, kw_only=True)
class WorkingHours:
    """From opening to closing, both included, on every workday."""

    opens: time
    closes: time

    def clamp(self, moment: datetime, calendar: Calendar) -> datetime:
        """This moment, or the next opening."""
        day = moment.date()
        if calendar.is_workday(day) and moment.time() <= self.closes:
            return max(moment, _at(day, self.opens))
        return _at(calendar.next_workday(day), self.opens)

    def clamp_back(self, moment: datetime, calendar: Calendar) -> datetime:
        """This moment, or the last closing."""
        day = moment.date()
        if calendar.is_workday(day) and moment.time() >= self.opens:
            return min(moment, _at(day, self.closes))
        return _at(calendar.last_workday(day), self.closes)

    def between(self, start: datetime, end: datetime, calendar: Calendar) -> timedelta:
        """How much of this stretch lies within working hours."""
        start, end = start.astimezone(SHANGHAI), end.astimezone(SHANGHAI)
        total, day = timedelta(), start.date()
        while day <= end.date():
            if calendar.is_workday(day):
                worked = min(end, _at(day, self.closes)) - max(start, _at(day, self.opens))
                total += max(worked, timedelta())
            day += ONE_DAY
        return total

    def after(self, start: datetime, worked: timedelta, calendar: Calendar) -> datetime:
        """The moment at which so much has been worked since `start`."""
        start = start.astimezone(SHANGHAI)
        day, left = start.date(), worked
        while True:
            if calendar.is_workday(day):
                begins = max(start, _at(day, self.opens))
                today = max(_at(day, self.closes) - begins, timedelta())
                if today and left <= today:
                    return begins + left
                left -= today
            day += ONE_DAY


OFFICE = WorkingHours(opens=time(9), closes=time(18))
SALES = WorkingHours(opens=time(9), closes=time(22))
"""Sales staff answer until about ten in the evening."""


def _at(day: date, clock: time) -> datetime:
    return datetime.combine(day, clock, SHANGHAI)
