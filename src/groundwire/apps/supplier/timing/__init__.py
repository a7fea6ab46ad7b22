"""When to come back to a supplier: phrases of a chat, Chinese holidays and working hours.

It knows no store and no timer: somebody else keeps the appointment.
"""

from groundwire.apps.supplier.timing.calendars import (
    CHINA,
    OFFICE,
    SALES,
    SHANGHAI,
    Calendar,
    UnknownYear,
    WorkingHours,
)
from groundwire.apps.supplier.timing.reader import HORIZON, TimingReading, plan_return, read_promise, read_timing

__all__ = [
    "CHINA",
    "HORIZON",
    "OFFICE",
    "SALES",
    "SHANGHAI",
    "Calendar",
    "TimingReading",
    "UnknownYear",
    "WorkingHours",
    "plan_return",
    "read_promise",
    "read_timing",
]
