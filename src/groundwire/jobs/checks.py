"""What a job may be. Pure."""

import re
from collections.abc import Iterable

from groundwire.contracts.canonical import JsonValue, dump_json
from groundwire.contracts.errors import ConfigError
from groundwire.contracts.jobs import LONGEST_WAIT, RetrySchedule
from groundwire.contracts.texts import storable

MAX_NAME_CHARS = 256
MAX_KEY_CHARS = 1024
MAX_ATTEMPTS = 1000
MAX_BYTES = 16_777_216
"""Of a job's payload, of its result and of its progress, each as JSON."""
MAX_PAGE = 2_147_483_647
LAST_MOMENT = 253_402_300_799.0
"""The end of the year 9999: later moments cannot be written as dates."""

_KIND = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


def check_job(kind: object, payload: object, tenant: object, due_at: object, key: object, schedule: object) -> None:
    """A ConfigError says what is wrong with it. Whoever calls may have given anything."""
    check_kind(kind)
    if not isinstance(payload, dict):
        raise ConfigError("what a job is given is a JSON object", hint='such as {"name": "Ada"}')
    check_tenant(tenant)
    _check_text("key", key, MAX_KEY_CHARS)
    if due_at is not None and not (isinstance(due_at, (int, float)) and 0 <= due_at <= LAST_MOMENT):
        raise ConfigError(
            f"a job cannot be due at {str(due_at)[:100]}",
            hint="give seconds since the epoch; a datetime with a zone has them as .timestamp()",
        )
    _check_schedule(schedule)


def check_kind(kind: object) -> None:
    if not isinstance(kind, str) or not _KIND.fullmatch(kind):
        raise ConfigError(
            f"{str(kind)[:100]!r} cannot be a kind of jobs",
            hint="up to 100 letters, digits, dots, - and _, such as follow-up",
        )


def check_tenant(tenant: object) -> None:
    _check_text("tenant", tenant, MAX_NAME_CHARS)


def check_page(limit: int) -> None:
    if not 1 <= limit <= MAX_PAGE:
        raise ConfigError(f"a page cannot have {limit} jobs", hint=f"from 1 to {MAX_PAGE}")


def encode_part(what: str, value: JsonValue) -> str:
    """The JSON that is kept; InvalidJson if it is none, ConfigError if there is too much of it."""
    encoded = dump_json(value)
    if len(encoded) > MAX_BYTES:
        raise ConfigError(
            f"a job's {what} may have {MAX_BYTES} bytes as JSON, and this one has {len(encoded)}",
            hint="keep it elsewhere, and say where it is",
        )
    return encoded.decode()


def _check_schedule(schedule: object) -> None:
    if not isinstance(schedule, RetrySchedule):
        raise ConfigError("that is no schedule", hint="such as RetrySchedule(delays=(5, 30, 300))")
    if len(schedule.delays) >= MAX_ATTEMPTS:
        raise ConfigError(f"a job may be attempted {MAX_ATTEMPTS} times at most")
    delays: Iterable[object] = schedule.delays
    if not all(isinstance(delay, (int, float)) and 0 <= delay <= LONGEST_WAIT for delay in delays):
        raise ConfigError("the delays of a schedule are seconds, from 0 to ten years")
    if not 0 <= schedule.jitter <= 1:
        raise ConfigError("the jitter of a schedule is a share, from 0 to 1")


def _check_text(what: str, text: object, limit: int) -> None:
    if not isinstance(text, str) or len(text) > limit or storable(text) != text:
        raise ConfigError(f"that cannot be a job's {what}", hint=f"up to {limit} characters that a database can keep")
