from datetime import date, datetime, time, timedelta
from itertools import pairwise

import pytest

from groundwire.apps.supplier.timing import CHINA, OFFICE, SHANGHAI, UnknownYear, WorkingHours
from groundwire.apps.supplier.timing.calendars import YEARS

OFF = [
    ("01-01", "01-03"),
    ("02-15", "02-23"),
    ("04-04", "04-06"),
    ("05-01", "05-05"),
    ("06-19", "06-21"),
    ("09-25", "09-27"),
    ("10-01", "10-07"),
]
WORKED = ["01-04", "02-14", "02-28", "05-09", "09-20", "10-10"]


def days_between(first, last):
    day, end = date.fromisoformat(f"2026-{first}"), date.fromisoformat(f"2026-{last}")
    while day <= end:
        yield day
        day += timedelta(days=1)


def march(*moment):
    return datetime(2026, 3, *moment, tzinfo=SHANGHAI)


def test_2026_has_its_holidays_and_working_weekends_and_no_others():
    holidays = {day for first, last in OFF for day in days_between(first, last)}
    worked = {date.fromisoformat(f"2026-{day}") for day in WORKED}
    for day in days_between("01-01", "12-31"):
        expected = day in worked or (day.weekday() < 5 and day not in holidays)
        assert CHINA.is_workday(day) is expected, day


def test_an_unknown_year_is_said_to_be_unknown():
    with pytest.raises(UnknownYear) as unknown:
        CHINA.is_workday(date(2027, 1, 4))
    assert unknown.value.year == 2027


def test_the_table_is_in_order_and_working_weekends_are_weekends():
    for number, year in YEARS.items():
        holidays = year.holidays
        assert all(one.first <= one.last < other.first for one, other in pairwise(holidays))
        assert all(day.weekday() >= 5 and day.year == number for day in year.working_weekends)


@pytest.mark.parametrize(
    ("moment", "clamped"),
    [
        ((11, 8, 59), (11, 9, 0)),
        ((11, 9, 0), (11, 9, 0)),
        ((11, 18, 0), (11, 18, 0)),
        ((11, 18, 1), (12, 9, 0)),
        ((13, 20, 0), (16, 9, 0)),
        ((14, 12, 0), (16, 9, 0)),
    ],
)
def test_a_moment_outside_working_hours_moves_to_the_next_opening(moment, clamped):
    assert OFFICE.clamp(march(*moment), CHINA) == march(*clamped)


@pytest.mark.parametrize(
    ("moment", "clamped"),
    [((11, 12, 0), (11, 12, 0)), ((11, 8, 59), (10, 18, 0)), ((11, 19, 0), (11, 18, 0)), ((15, 12, 0), (13, 18, 0))],
)
def test_it_can_move_back_to_the_last_closing(moment, clamped):
    assert OFFICE.clamp_back(march(*moment), CHINA) == march(*clamped)


@pytest.mark.parametrize(
    ("start", "end", "hours"),
    [
        ((11, 10, 0), (11, 12, 0), 2),
        ((11, 17, 0), (12, 10, 0), 2),
        ((13, 17, 0), (16, 10, 0), 2),
        ((11, 20, 0), (12, 8, 0), 0),
        ((11, 12, 0), (11, 10, 0), 0),
    ],
)
def test_only_working_hours_are_counted(start, end, hours):
    assert OFFICE.between(march(*start), march(*end), CHINA) == timedelta(hours=hours)


def test_other_hours_can_be_worked():
    night = WorkingHours(opens=time(20), closes=time(23))
    assert night.clamp(march(11, 10, 0), CHINA) == march(11, 20, 0)


@pytest.mark.parametrize(
    ("start", "worked", "ends"),
    [
        ((11, 10, 0), 2, (11, 12, 0)),
        ((11, 10, 0), 8, (11, 18, 0)),
        ((11, 17, 0), 2, (12, 10, 0)),
        ((13, 17, 0), 2, (16, 10, 0)),
        ((14, 12, 0), 1, (16, 10, 0)),
        ((11, 20, 0), 9, (12, 18, 0)),
    ],
)
def test_so_much_work_is_done_at_a_moment(start, worked, ends):
    moment = OFFICE.after(march(*start), timedelta(hours=worked), CHINA)
    assert moment == march(*ends)
    assert OFFICE.between(march(*start), moment, CHINA) == timedelta(hours=worked)
