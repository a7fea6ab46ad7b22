"""What is different between two records of a run: entry by entry where they must be the same, else step by step.

Pure. Times are not compared: they are never the same twice.
"""

from collections import deque
from collections.abc import Hashable, Iterable, Iterator, Sequence
from itertools import zip_longest
from typing import Any, Literal, TypeAlias, TypeVar

import msgspec
from msgspec import Struct

from groundwire.contracts.calls import ToolCall
from groundwire.contracts.canonical import JsonObject, JsonValue, canonical_json, parse_json
from groundwire.contracts.errors import InvalidJson
from groundwire.contracts.runs import Answered, Failed, Plan, RunBody
from groundwire.contracts.texts import storable
from groundwire.runtime.runs.traces import Step, Trace

K = TypeVar("K", bound=Hashable)

DifferenceKind: TypeAlias = Literal[
    "plan",
    "call_added",
    "call_removed",
    "call_changed",
    "call_unrecorded",
    "text",
    "failure",
    "outcome",
    "entry",
    "run",
]

_TIMES = ("duration_ms", "seconds")
"""How long something took is never the same again."""


class Difference(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """At which step, what (`name` is a field or a tool), and both sides of it; None where there is nothing.

    `plan`, `call_…`, `text`, `failure` and `outcome` tell how a changed run went another way. `call_unrecorded` is a
    call whose result the record cannot give. `entry` and `run` are what an exact replay did not find again.
    """

    step: int
    kind: DifferenceKind
    name: str = ""
    recorded: JsonValue = None
    replayed: JsonValue = None


def compare_exactly(recorded: Trace, replayed: Trace) -> tuple[Difference, ...]:
    """Every field of every entry but the times."""
    found: list[Difference] = []
    step = 0
    for one, other in zip_longest(recorded.entries, replayed.entries):
        step = _step_of(one, step)
        found += _fields(step, _plain(one), _plain(other))
    ended = recorded.ended
    told = ("", "") if ended is None else (ended.outcome.value, storable(ended.text))  # as a head has it
    for name, head, entry in zip(("outcome", "text"), (recorded.run.outcome, recorded.run.text), told, strict=True):
        if head != entry:
            found.append(Difference(step=step, kind="run", name=name, recorded=head, replayed=entry))
    return tuple(found)


def compare_steps(recorded: Trace, replayed: Trace) -> tuple[Difference, ...]:
    """Where the run went another way."""
    found: list[Difference] = []
    told: dict[str, Difference] = {}
    compared: tuple[Plan | None, Plan | None] | None = None
    empty = Step(number=0, plan=None)
    number = 0
    for one, other in zip_longest(recorded.steps(), replayed.steps()):
        number = (one or other or empty).number
        if one is not None and other is not None and not _are(compared, one.plan, other.plan):
            plans = {change.name: change for change in compare_plans(one.plan, other.plan)}
            changes = [change for name, change in plans.items() if told.get(name) != change]
            found += [msgspec.structs.replace(change, step=number) for change in changes]
            told, compared = plans, (one.plan, other.plan)
        found += _compare_step(number, one or empty, other or empty)
    outcomes = [trace.ended.outcome.value if trace.ended is not None else None for trace in (recorded, replayed)]
    if outcomes[0] != outcomes[1]:
        found.append(Difference(step=number, kind="outcome", recorded=outcomes[0], replayed=outcomes[1]))
    return tuple(found)


def compare_plans(recorded: Plan | None, replayed: Plan | None) -> Iterator[Difference]:
    """Field by field, and of the tools one by one."""
    one, other = _plain(recorded), _plain(replayed)
    before, after = _by_name(one.pop("tools", ())), _by_name(other.pop("tools", ()))
    for name, left, right in _unequal(one, other):
        yield Difference(step=0, kind="plan", name=name, recorded=left, replayed=right)
    for name, left, right in _unequal(before, after):
        yield Difference(step=0, kind="plan", name=f"tools.{name}", recorded=left, replayed=right)
    if list(before) != list(after) and sorted(before) == sorted(after):
        yield Difference(step=0, kind="plan", name="tools", recorded=list(before), replayed=list(after))


def read_raw(raw: str) -> JsonValue:
    """Arguments as a value; their text if it is no JSON."""
    try:
        return parse_json(raw)
    except InvalidJson:
        return raw


def call_key(name: str, arguments: JsonValue) -> tuple[str, bytes]:
    """The same for calls that ask for the same."""
    return name, canonical_json(arguments)


def _compare_step(number: int, one: Step, other: Step) -> Iterator[Difference]:
    yield from _compare_calls(number, [asked.call for asked in one.asked], [asked.call for asked in other.asked])
    if one.text != other.text:
        yield Difference(step=number, kind="text", recorded=one.text, replayed=other.text)
    if one.failure != other.failure:
        left, right = _plain(one.failure) or None, _plain(other.failure) or None
        yield Difference(step=number, kind="failure", recorded=left, replayed=right)


def _compare_calls(step: int, before: Sequence[ToolCall], after: Sequence[ToolCall]) -> Iterator[Difference]:
    """Calls without their like on the other side; two of one tool are one call that changed."""
    gone = {place: (call.name, read_raw(call.raw)) for place, call in enumerate(before)}
    alike = _places((call_key(*made), place) for place, made in gone.items())
    come: list[tuple[str, JsonValue]] = []
    for call in after:
        made = (call.name, read_raw(call.raw))
        if same := alike.get(call_key(*made)):
            del gone[same.popleft()]
        else:
            come.append(made)
    of_tool = _places((name, place) for place, (name, _) in gone.items())
    for name, arguments in come:
        if places := of_tool.get(name):
            _, earlier = gone.pop(places.popleft())
            yield Difference(step=step, kind="call_changed", name=name, recorded=earlier, replayed=arguments)
        else:
            yield Difference(step=step, kind="call_added", name=name, replayed=arguments)
    for name, arguments in gone.values():
        yield Difference(step=step, kind="call_removed", name=name, recorded=arguments)


def _places(found: Iterable[tuple[K, int]]) -> dict[K, deque[int]]:
    """Where each is, from the first on."""
    places: dict[K, deque[int]] = {}
    for key, place in found:
        places.setdefault(key, deque()).append(place)
    return places


def _are(compared: tuple[Plan | None, Plan | None] | None, one: Plan | None, other: Plan | None) -> bool:
    """Whether it is these two: a plan holds for many steps, and may be long."""
    return compared is not None and compared[0] is one and compared[1] is other


def _fields(step: int, one: JsonObject, other: JsonObject) -> Iterator[Difference]:
    """Entries of two kinds are different as a whole, others in some of their fields."""
    kinds = (one.get("kind"), other.get("kind"))
    if kinds[0] != kinds[1]:
        name = str(kinds[0] or kinds[1])
        yield Difference(step=step, kind="entry", name=name, recorded=one or None, replayed=other or None)
        return
    for name, left, right in _unequal(one, other):
        yield Difference(step=step, kind="entry", name=f"{kinds[0]}.{name}", recorded=left, replayed=right)


def _unequal(one: JsonObject, other: JsonObject) -> Iterator[tuple[str, JsonValue, JsonValue]]:
    for name in {**one, **other}:
        left, right = one.get(name), other.get(name)
        if canonical_json(left) != canonical_json(right):
            yield name, left, right


def _plain(value: Struct | None) -> JsonObject:
    """As JSON has it, without times; empty for nothing."""
    if value is None:
        return {}
    plain = parse_json(msgspec.json.encode(value))
    return {name: field for name, field in plain.items() if name not in _TIMES} if isinstance(plain, dict) else {}


def _by_name(tools: Any) -> JsonObject:
    """Tools by their names; those that a provider brings have none but their kind."""
    return {str(tool.get("name") or tool.get("kind")): tool for tool in tools}


def _step_of(body: RunBody | None, step: int) -> int:
    return body.step if isinstance(body, (Answered, Failed)) else step
