"""Doubles and assertions for users' own tests: a clock that stands still, flags, fault plans, a runtime in memory, and
models that say what they were told to say, in process or behind a real socket.

Nothing here knows a test runner, and nothing outside tests needs it.

    clock = FakeClock()
    runtime = runtime_for(book_table, clock=clock, flags=StaticFlags("BOOKING"))
    data = assert_ok(await runtime.call("book_table", {"place": "Nonna's", "people": 2}))
"""

import asyncio
import contextlib
import os
import signal
from collections.abc import AsyncIterator, Callable, Sequence
from typing import TYPE_CHECKING, Any

from groundwire.assembly import Runtime
from groundwire.contracts.canonical import JsonValue
from groundwire.contracts.errors import ErrorType
from groundwire.contracts.failures import Failure
from groundwire.contracts.ports import Clock
from groundwire.contracts.replies import FinishReason
from groundwire.contracts.results import ErrorInfo, ToolResult
from groundwire.providers.faults import Fault, FaultKind, ModelFaults
from groundwire.providers.scripted import ScriptedModel, ScriptedProvider
from groundwire.providers.scripts import Answer, Ask, Rule
from groundwire.registry import Registry, Tool, tool
from groundwire.runtime.attempt import Attempt
from groundwire.runtime.dispatcher import STEPS

if TYPE_CHECKING:
    from groundwire.simulator.app import Simulator

__all__ = [
    "Answer",
    "Ask",
    "Failure",
    "FakeClock",
    "Fault",
    "FaultKind",
    "FaultPlan",
    "FinishReason",
    "KillAt",
    "ModelFaults",
    "Rule",
    "ScriptedModel",
    "ScriptedProvider",
    "StaticFlags",
    "assert_failed",
    "assert_ok",
    "runtime_for",
    "simulator",
]

EPOCH = 1_700_000_000.0
"""Where a fake clock starts unless told otherwise: 2023-11-14T22:13:20Z."""


class FakeClock:
    """Time that passes only when told to. Who sleeps by it wakes when `advance` has passed that moment."""

    def __init__(self, start: float = EPOCH) -> None:
        self._now = start
        self._sleepers: list[tuple[float, asyncio.Future[None]]] = []
        self._watchers: list[asyncio.Future[None]] = []

    @property
    def sleepers(self) -> int:
        """How many are asleep now."""
        return len(self._sleepers)

    async def until_asleep(self, count: int = 1) -> None:
        """Wait until this many are asleep; 0: until nobody is."""
        while len(self._sleepers) != count:
            watcher: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._watchers.append(watcher)
            await watcher

    def now(self) -> float:
        return self._now

    def monotonic(self) -> float:
        return self._now

    async def sleep(self, seconds: float) -> None:
        if seconds <= 0:
            await asyncio.sleep(0)
            return
        sleeper = (self._now + seconds, asyncio.get_running_loop().create_future())
        self._sleepers.append(sleeper)
        self._tell()
        try:
            await sleeper[1]
        finally:
            if sleeper in self._sleepers:
                self._sleepers.remove(sleeper)
                self._tell()

    def advance(self, seconds: float) -> None:
        """Let that much time pass, and wake whoever slept until then. May be called from any thread."""
        self._now += seconds
        due = [sleeper for sleeper in self._sleepers if sleeper[0] <= self._now]
        for sleeper in due:
            self._sleepers.remove(sleeper)
            sleeper[1].get_loop().call_soon_threadsafe(_wake, sleeper[1])
        if due:
            self._tell()

    def _tell(self) -> None:
        watchers, self._watchers = self._watchers, []
        for watcher in watchers:
            watcher.get_loop().call_soon_threadsafe(_wake, watcher)


class StaticFlags:
    """Feature flags that are off unless they were named, or turned on since."""

    def __init__(self, *on: str) -> None:
        self._on = set(on)

    def is_on(self, flag: str) -> bool:
        return flag in self._on

    def turn_on(self, flag: str) -> None:
        self._on.add(flag)

    def turn_off(self, flag: str) -> None:
        self._on.discard(flag)


class KillAt:
    """An `on_step` hook that kills its own process (SIGKILL) before the step runs, at the n-th time.

    `tool` narrows it to calls of that name. The steps are those of the pipeline, from `replay` to `done`; all that is
    checked before anything happens is one of them, `check`.
    """

    def __init__(self, step: str, *, nth: int = 1, tool: str | None = None) -> None:
        if step not in STEPS:
            raise ValueError(f"there is no step {step!r}; the steps are {', '.join(STEPS)}")
        self._step = step
        self._left = nth
        self._tool = tool

    def __call__(self, step: str, attempt: Attempt) -> None:
        if step != self._step or self._tool not in (None, attempt.name):
            return
        self._left -= 1
        if self._left == 0:
            os.kill(os.getpid(), signal.SIGKILL)


class FaultPlan:
    """Several `on_step` hooks as one. `reached` keeps (tool, step) in the order in which the calls got there."""

    def __init__(self, *faults: Callable[[str, Attempt], None]) -> None:
        self._faults = faults
        self.reached: list[tuple[str, str]] = []

    def __call__(self, step: str, attempt: Attempt) -> None:
        self.reached.append((attempt.name, step))
        for fault in self._faults:
            fault(step, attempt)


def runtime_for(*tools: Tool | Callable[..., Any], **options: Any) -> Runtime:
    """A runtime in memory for these tools; plain functions become tools. Takes the options of `Runtime`."""
    registry = Registry([item if isinstance(item, Tool) else tool(item) for item in tools])
    return Runtime(registry, options.pop("store", "memory://"), **options)


@contextlib.asynccontextmanager
async def simulator(
    *answers: Answer | str,
    rules: Sequence[Rule] = (),
    model: ScriptedModel | None = None,
    faults: ModelFaults | None = None,
    key: str = "",
    clock: Clock | None = None,
    piece: int = 12,
    pause: float = 0.0,
) -> "AsyncIterator[Simulator]":
    """A scripted model behind a real socket, in every dialect, until the block ends.

    Its `url`, `openai_url`, `anthropic_url`, `gemini_url` and `live_url` are what clients are pointed at, `requests` is
    what came in. Needs the extra `simulator`.
    """
    from groundwire.simulator.app import Simulator

    if model is not None and (answers or rules or faults):
        raise ValueError("a model brings its own answers, rules and faults")
    scripted = model or ScriptedModel(*answers, rules=rules, faults=faults)
    async with Simulator(scripted, key=key, clock=clock, piece=piece, pause=pause) as running:
        yield running


def assert_ok(result: ToolResult) -> JsonValue:
    """The result's data, if the call succeeded."""
    if result.error is not None or not result.ok:
        raise AssertionError(f"the call failed: {_describe(result.error)}")
    return result.data


def assert_failed(
    result: ToolResult,
    type: ErrorType,  # noqa: A002 - the name of the field it compares
    *,
    detail: str | None = None,
) -> ErrorInfo:
    """The result's first error, if the call failed in this way. Without `detail` any detail will do."""
    error = result.error
    if error is None or result.ok:
        raise AssertionError(f"the call succeeded, but {type} was expected; its data: {result.data!r}")
    if error.type != type or detail not in (None, error.detail):
        wanted = f"{type}/{detail}" if detail else str(type)
        raise AssertionError(f"the call failed, but not with {wanted}: {_describe(error)}")
    return error


def _describe(error: ErrorInfo | None) -> str:
    if error is None:
        return "without an error"
    code = f"{error.type}/{error.detail}" if error.detail else str(error.type)
    return f"{code}: {error.message}"


def _wake(sleeper: "asyncio.Future[None]") -> None:
    if not sleeper.done():
        sleeper.set_result(None)
