"""What can go wrong with a model, on purpose and by plan: the same seed gives the same faults on every machine.

A fault is data. The simulator acts it out on the socket; the scripted provider, in process, as a client would meet it.
"""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from random import Random
from typing import Annotated

from msgspec import Meta, Struct, ValidationError, convert
from msgspec.structs import replace

from groundwire.codecs.wire.building import withdraw_calls
from groundwire.codecs.wire.failures import kind_of_status
from groundwire.codecs.wire.ids import unique_id
from groundwire.contracts.errors import ConfigError
from groundwire.contracts.failures import Failure
from groundwire.contracts.messages import CallItem, Item, Message, TextPart
from groundwire.contracts.replies import Finish, FinishReason, Reply, ReplyEnded, ReplyPart, ReplyStarted

PAGE = b"<!doctype html><html><head><title>One moment</title></head><body><h1>One moment, please</h1></body></html>"
"""What WRONG_CONTENT_TYPE sends instead of an answer."""


class FaultKind(StrEnum):
    TIMEOUT = "timeout"
    """No answer at all; the connection stays open."""
    STATUS = "status"
    """An error status, with or without a hint when to come back."""
    CUT = "cut"
    """The connection ends after so many bytes of the body."""
    TRUNCATED_CALL = "truncated_call"
    """The arguments of the last call stop in the middle, because the answer was too long."""
    MALFORMED_CALL = "malformed_call"
    """The arguments of the last call are not JSON."""
    EMPTY = "empty"
    """An answer without content that claims to be complete."""
    THINKING_LEAK = "thinking_leak"
    """Thoughts in the text, between <think> tags."""
    DUPLICATE_IDS = "duplicate_ids"
    """All calls of the answer have one id."""
    SLOW_DRIP = "slow_drip"
    """Byte by byte, with a pause after each piece."""
    WRONG_CONTENT_TYPE = "wrong_content_type"
    """A web page where JSON or events are expected, with status 200."""


class Fault(Struct, frozen=True, kw_only=True):
    """`status` and `retry_after` belong to STATUS, `at_byte` to CUT, `pause` (seconds) to TIMEOUT and SLOW_DRIP.

    In process, where an answer has no bytes of its own, `at_byte` counts those of its texts.

    Without a pause, TIMEOUT is silent for ten minutes and SLOW_DRIP waits 10 ms after each piece.
    """

    kind: FaultKind
    status: int = 500
    retry_after: float | None = None
    at_byte: int = 100
    pause: float | None = None

    @property
    def seconds(self) -> float:
        if self.pause is not None:
            return self.pause
        return 600.0 if self.kind is FaultKind.TIMEOUT else 0.01


_NUMBERS = {
    FaultKind.STATUS: "status",
    FaultKind.CUT: "at_byte",
    FaultKind.TIMEOUT: "pause",
    FaultKind.SLOW_DRIP: "pause",
}


def read_fault(text: str) -> Fault:
    """`status:429`, `cut:60`, `timeout:2`, or a kind alone: the number is a status, a byte, or seconds."""
    name, has_number, number = text.partition(":")
    try:
        kind = FaultKind(name)
    except ValueError:
        raise ConfigError(f"There is no fault {name!r}.", hint=f"faults are {', '.join(FaultKind)}") from None
    if not has_number:
        return Fault(kind=kind)
    if kind not in _NUMBERS:
        raise ConfigError(f"The fault {name} takes no number.", hint=f"those that do: {', '.join(_NUMBERS)}")
    member = _NUMBERS[kind]
    wanted = {"status": Annotated[int, Meta(ge=400, le=599)], "at_byte": Annotated[int, Meta(ge=0)]}
    try:
        value = convert(number, wanted.get(member, Annotated[float, Meta(ge=0, le=86_400)]), strict=False)
    except ValidationError:
        words = {"status": "an error status, 400 to 599", "at_byte": "a number of bytes", "pause": "seconds"}
        raise ConfigError(f"The fault {text!r} must have {words[member]} behind the colon.") from None
    return Fault(kind=kind, **{member: value})


DEFAULT_FAULTS: tuple[Fault, ...] = (
    Fault(kind=FaultKind.STATUS, status=429, retry_after=0.01),
    Fault(kind=FaultKind.STATUS, status=429),
    Fault(kind=FaultKind.STATUS, status=500),
    Fault(kind=FaultKind.STATUS, status=529),
    Fault(kind=FaultKind.CUT, at_byte=60),
    Fault(kind=FaultKind.TRUNCATED_CALL),
    Fault(kind=FaultKind.MALFORMED_CALL),
    Fault(kind=FaultKind.EMPTY),
    Fault(kind=FaultKind.THINKING_LEAK),
    Fault(kind=FaultKind.DUPLICATE_IDS),
    Fault(kind=FaultKind.SLOW_DRIP),
    Fault(kind=FaultKind.WRONG_CONTENT_TYPE),
    Fault(kind=FaultKind.TIMEOUT),
)


class ModelFaults:
    """Which request (counted from 0) meets which fault: as listed in `at`, else by chance from `faults`."""

    def __init__(
        self,
        *,
        at: Mapping[int, Fault] | None = None,
        seed: int = 0,
        rate: float = 0.0,
        faults: Sequence[Fault] = DEFAULT_FAULTS,
    ) -> None:
        if not 0 <= rate <= 1:
            raise ValueError(f"rate is a share between 0 and 1, not {rate}")
        self._at = dict(at or {})
        self._seed = seed
        self._rate = rate
        self._faults = tuple(faults)

    def fault(self, number: int) -> Fault | None:
        if number in self._at:
            return self._at[number]
        if not self._rate or not self._faults:
            return None
        chance = Random(f"{self._seed}:{number}")  # noqa: S311 - repeatable, protects nothing
        return chance.choice(self._faults) if chance.random() < self._rate else None


def failure_of(fault: Fault) -> Failure:
    """An error status as a provider would word it."""
    words = {429: "Rate limit reached. Please try again later.", 529: "Overloaded", 503: "The model is overloaded."}
    message = words.get(fault.status, "The server had an error while processing your request.")
    return Failure(
        kind=kind_of_status(fault.status), message=message, status=fault.status, retry_after=fault.retry_after
    )


def cut_parts(parts: Sequence[ReplyPart], at_byte: int) -> list[ReplyPart]:
    """What a client has passed on when a stream breaks after so many bytes of its texts; never the end."""
    kept: list[ReplyPart] = []
    left = at_byte
    for part in parts:
        left -= len(getattr(part, "text", "").encode("utf-8", "surrogatepass"))
        if left < 0 or isinstance(part, ReplyEnded):
            break
        kept.append(part)
    return [] if all(isinstance(part, ReplyStarted) for part in kept) else kept


def numbered_ids(reply: Reply) -> Reply:
    """What a client makes of calls that all have the first one's id."""
    taken: list[str] = []
    items: list[Item] = []
    for item in reply.items:
        if isinstance(item, CallItem):
            taken.append(unique_id(taken[0] if taken else item.call.call_id, taken))
            items.append(replace(item, call=replace(item.call, call_id=taken[-1])))
        else:
            items.append(item)
    return replace(reply, items=tuple(items))


def spoil(reply: Reply, fault: Fault | None) -> Reply:
    """The reply with a fault of its content; those of the connection, and equal ids, are made on the wire."""
    if fault is None:
        return reply
    items = reply.items
    match fault.kind:
        case FaultKind.TRUNCATED_CALL if reply.calls:
            cut = withdraw_calls(_cut_last_call(items), FinishReason.LENGTH)
            return replace(reply, items=cut, finish=Finish(reason=FinishReason.LENGTH))
        case FaultKind.MALFORMED_CALL if reply.calls:
            return replace(reply, items=_break_last_call(items))
        case FaultKind.EMPTY:
            return replace(reply, items=(), finish=Finish(reason=FinishReason.END))
        case FaultKind.THINKING_LEAK:
            leak = "<think>The user wants an answer. I will give one.</think>"
            rest = tuple(item for item in items if not isinstance(item, Message))
            message = Message(role="assistant", parts=(TextPart(text=leak + reply.text),))
            return replace(reply, items=(message, *rest))
        case _:
            return reply


def _cut_last_call(items: tuple[Item, ...]) -> tuple[Item, ...]:
    return tuple(
        _with_raw(item, item.call.raw[:-2]) if item is items[-1] and isinstance(item, CallItem) else item
        for item in items
    )


def _break_last_call(items: tuple[Item, ...]) -> tuple[Item, ...]:
    return tuple(
        _with_raw(item, item.call.raw[:-1] + ",}") if item is items[-1] and isinstance(item, CallItem) else item
        for item in items
    )


def _with_raw(item: CallItem, raw: str) -> CallItem:
    return replace(item, call=replace(item.call, raw=raw, arguments=None))
