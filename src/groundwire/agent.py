"""An agent: a model, tools, and the loop between them. `run` gives the end, `stream` everything on the way."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterable, Iterator, Mapping, Sequence
from contextlib import aclosing
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self, TypeAlias

import msgspec

from groundwire.assembly import Runtime, Settings, open_models
from groundwire.contracts.calls import ToolCall
from groundwire.contracts.errors import ConfigError, NotFound
from groundwire.contracts.events import CallFinished, CallStarted, Event, RunEnded
from groundwire.contracts.failures import Failure
from groundwire.contracts.messages import Item, Message
from groundwire.contracts.ports import Clock, Provider, Store
from groundwire.contracts.replies import Usage, WireWarning
from groundwire.contracts.results import ToolResult
from groundwire.contracts.runs import RESUMABLE, Outcome, Run, Started
from groundwire.contracts.schema_limits import SchemaLimits
from groundwire.providers.router import ModelRouter, who_answers
from groundwire.registry import Registry, Tool
from groundwire.registry.validators import compile_schema
from groundwire.runtime.background import NOTHING_LATE, Late
from groundwire.runtime.finishing import see_through
from groundwire.runtime.runs.history import NO_CONVERSATION, begin_run, conversation_of, end_unbegun, load_run
from groundwire.runtime.runs.option_reading import OptionReader, no_presets
from groundwire.runtime.runs.options import RunLimits, RunOptions
from groundwire.runtime.runs.outputs import read_output
from groundwire.runtime.runs.prompts import Prompt, output_format, read_history, read_prompt
from groundwire.runtime.runs.runner import Price, Runner, check_output, no_price
from groundwire.runtime.runs.settings import RunSettings
from groundwire.runtime.runs.state import RunState
from groundwire.runtime.runs.trusting import flag_enforced, heed_trust
from groundwire.runtime.runs.watching import RunWatch
from groundwire.runtime.turns import EventSink, Turn

if TYPE_CHECKING:
    from groundwire.runtime.runs.replaying import ReplayReport

Tools: TypeAlias = Registry | str | Path | Iterable[Tool]


class CallOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """One call of a run and its result."""

    call: ToolCall
    result: ToolResult


class RunResult(msgspec.Struct, frozen=True, kw_only=True):
    """How a run ended. `items` are what it added to the conversation; `approvals` are what it waits for.

    `warnings` are what could not be sent to the model, or read from it, as it was meant; each once.
    """

    run_id: str
    session_id: str
    outcome: Outcome
    text: str
    items: tuple[Item, ...]
    history: tuple[Item, ...]
    events: tuple[Event, ...]
    approvals: tuple[str, ...]
    warnings: tuple[WireWarning, ...]
    steps: int
    usage: Usage
    cost: float | None
    failure: Failure | None
    output: Any = None

    @property
    def ok(self) -> bool:
        return self.outcome is Outcome.COMPLETED

    @property
    def calls(self) -> tuple[CallOutcome, ...]:
        """The calls that ended, in that order."""
        started: dict[str, ToolCall] = {}
        calls: list[CallOutcome] = []
        for event in self.events:
            if type(event) is CallStarted:
                started[event.call.call_id] = event.call
            elif type(event) is CallFinished and event.call_id in started:
                calls.append(CallOutcome(call=started[event.call_id], result=event.result))
        return tuple(calls)


class Agent:
    def __init__(
        self,
        model: str,
        *,
        tools: Tools = (),
        instructions: str = "",
        settings: RunSettings | Mapping[str, Any] | None = None,
        limits: RunLimits | Mapping[str, Any] | None = None,
        approvals: Literal["pause", "answer"] = "pause",
        output: Any = None,
        name: str = "",
        runtime: Runtime | None = None,
        models: Provider | None = None,
        store: str | Store | None = None,
        config: Settings | None = None,
        resources: Mapping[str, Any] | None = None,
        clock: Clock | None = None,
        price: Price | None = None,
        **options: Any,
    ) -> None:
        """`name` is for whoever watches. `options` are further fields of RunOptions that hold for every run, such as `sampling` or `profile`."""
        owned = {"tools": tools, "store": store, "config": config, "resources": resources, "clock": clock}
        if runtime is not None and (misplaced := [name for name, value in owned.items() if value]):
            raise ConfigError(
                f"{misplaced[0]} belongs to the runtime, which is there already", hint="Runtime(…) takes it"
            )
        self.runtime = runtime or Runtime(_registry(tools), store, settings=config, resources=resources, clock=clock)
        self._owns_runtime = runtime is None
        self._models = models or open_models(config, clock=clock)
        self._owns_models = models is None
        priced = self._models.cost_of if isinstance(self._models, ModelRouter) else no_price
        self._output, self._price = output, price or priced
        given = {
            "model": model,
            "instructions": instructions,
            "settings": settings,
            "limits": limits if limits is not None else {},
            "approvals": approvals,
            "output": output,
        }
        needed = self._models.presets_of if isinstance(self._models, ModelRouter) else no_presets
        self._options = OptionReader({**given, **options}, needed)
        self._fitting: RunOptions | None = None
        """The options that were found to fit last: those of the agent are the same in every run."""
        self._runner = Runner(
            self._models,
            self.runtime.carry,
            self.runtime.store,
            self.runtime.clock,
            after_batch=self.runtime.after_batch,
            watch=self._watch(name),
            price=self._price,
            check_output=partial(check_output, limits=self.runtime.parts.schema_limits),
            has_one_store=True,
        )
        self._who = None if self.runtime.parts.trust is None else who_answers(self._models)

    async def run(
        self, prompt: Prompt = None, *, history: Sequence[Item] | None = None, run_id: str = "", **changes: Any
    ) -> RunResult:
        """From a message to a result. `changes` are options for this run only, such as `session`.

        A `run_id` of one's own makes sure that there is one such run: a second one is refused, and can be resumed.
        """
        state = await self._begin(prompt, history, run_id, changes)
        return await self._collect(state, resumed=False)

    async def run_once(
        self, run_id: str, prompt: Prompt = None, *, history: Sequence[Item] | None = None, **changes: Any
    ) -> RunResult:
        """The one run of that id: begun now, taken up where it was left, or, where it has ended, its result again.

        A run that was taken up or had ended knows its `items`, but only the events and calls that were seen here.
        """
        await self.runtime.open()
        tenant = self._options.read(changes).tenant
        try:
            known = await load_run(self.runtime.store, self.runtime.clock, tenant, run_id)
        except NotFound:
            return await self.run(prompt, history=history, run_id=run_id, **changes)
        if known.run.outcome and known.run.outcome not in RESUMABLE:
            known.outcome = Outcome(known.run.outcome)
            return _result(known, [], self.runtime.parts.schema_limits)
        return await self.resume(run_id, tenant=tenant, output=changes.get("output"))

    async def stream(
        self, prompt: Prompt = None, *, history: Sequence[Item] | None = None, run_id: str = "", **changes: Any
    ) -> AsyncGenerator[Event]:
        """The same, event by event as it happens. The last one is `run.ended`.

        Whoever leaves before that, and closes the stream, has cancelled the run, unless its answer is there.
        """
        state = await self._begin(prompt, history, run_id, changes)
        async with aclosing(self._events(state, resumed=False)) as events:
            async for event in events:
                yield event

    async def resume(self, run_id: str, *, tenant: str = "default", output: Any = None) -> RunResult:
        """Go on with a run that waits for a decision, failed at its provider, or lost its process.

        `output` is the type of its answer, where the run had another than the agent.
        """
        return await self._collect(await self._load(run_id, tenant, output), resumed=True)

    async def resume_stream(self, run_id: str, *, tenant: str = "default") -> AsyncGenerator[Event]:
        async with aclosing(self._events(await self._load(run_id, tenant), resumed=True)) as events:
            async for event in events:
                yield event

    async def replay(
        self,
        run_id: str,
        *,
        model: str | None = None,
        instructions: str | None = None,
        tools: Tools | None = None,
        execute: bool = False,
        tenant: str = "default",
    ) -> ReplayReport:
        """Run a recorded run again on its record: exactly, or with another model, prompt or tools."""
        from groundwire.replays import Changes, replay_run  # only those who replay need it

        registry = None if tools is None else _registry(tools)
        changes = Changes(model=model, instructions=instructions, registry=registry, execute=execute)
        return await replay_run(self.runtime, run_id, changes, models=self._models, price=self._price, tenant=tenant)

    def run_sync(self, prompt: Prompt = None, **changes: Any) -> RunResult:
        """The same without an event loop of one's own."""
        return self.runtime.run_sync(self.run(prompt, **changes))

    def stream_sync(self, prompt: Prompt = None, **changes: Any) -> Iterator[Event]:
        events = self.stream(prompt, **changes)
        try:
            while True:
                try:
                    yield self.runtime.run_sync(_next(events))
                except StopAsyncIteration:
                    return
        finally:
            self.runtime.run_sync(events.aclose())

    def resume_sync(self, run_id: str, *, tenant: str = "default") -> RunResult:
        return self.runtime.run_sync(self.resume(run_id, tenant=tenant))

    async def close(self) -> None:
        """Let go of what was opened here; a runtime and models that were given belong to whoever gave them."""
        if self._owns_models:
            await self._models.close()
        if self._owns_runtime:
            await self.runtime.close()

    async def __aenter__(self) -> Self:
        await self.runtime.open()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def _watch(self, name: str) -> RunWatch | None:
        telemetry, models = self.runtime.telemetry, self._models
        if telemetry is None:
            return None
        return RunWatch(telemetry, name, models.locate if isinstance(models, ModelRouter) else _as_named)

    async def _begin(
        self, prompt: Prompt, history: Sequence[Item] | None, run_id: str, changes: dict[str, Any]
    ) -> RunState:
        await self.runtime.open()
        output_type = changes.get("output", self._output)
        options, warnings = await self._trusted(self._options.read(changes))
        store = self.runtime.store
        given = read_history(history)
        clock, earlier = self.runtime.clock, NO_CONVERSATION
        if history is None and options.session:
            earlier = await conversation_of(store, options.tenant, options.session)
        late = NOTHING_LATE
        if self.runtime.has_background_tools:
            late = await self._late(options, (*earlier.items, *given), is_whole=history is None)
        turn = await self._next_turn(options, (*earlier.items, *given))
        message = read_prompt(prompt, turn)
        if message is None and not (earlier.items or given):
            raise ConfigError("there is nothing to ask", hint='agent.run("…"), or give a history')
        if run_id or options is not self._fitting:
            self._check(options, run_id)
            self._fitting = options
        now = clock.now()
        run = Run(
            tenant=options.tenant,
            run_id=run_id or self.runtime.ids.new("run"),
            session_id=options.session or "",
            turn=turn,
            model=options.model,
            created_at=now,
            updated_at=now,
        )
        started = Started(
            items=(*given, *late.items) if message is None else (*given, *late.items, message),
            inherited=len(given),
            after=earlier.after,
            changed=earlier.changed,
            options=self._options.as_json(options),
            registry_version=await self.runtime.registry_version(options.session, tenant=options.tenant),
            warnings=warnings,
            context_tokens=earlier.tokens,
        )
        state = await begin_run(store, clock, run, options, started, earlier.items)
        state.output_type = output_type
        state.is_new = not run_id
        state.news = late.events
        return state

    def _check(self, options: RunOptions, run_id: str) -> None:
        """What cannot be run is refused before there is a run."""
        self.runtime.check_turn(options.for_turn(run_id))
        if options.limits.max_cost is not None and self._price(options.model, Usage(input=1, output=1)) is None:
            raise ConfigError(
                f"max_cost cannot hold: nobody knows what {options.model!r} costs",
                hint="give it prices under [[models]], or the agent a price",
            )
        if options.output is not None and options.output.schema is not None:
            limits = self.runtime.parts.schema_limits
            compile_schema(options.output.schema, reason="invalid_output_schema", of="the answer", limits=limits)

    async def _late(self, options: RunOptions, said: tuple[Item, ...], *, is_whole: bool) -> Late:
        """What came of background calls meanwhile. Who brings a history of their own need not have all of the session's."""
        if options.session and not is_whole:
            known = await conversation_of(self.runtime.store, options.tenant, options.session)
            said = (*known.items, *said)
        return await self.runtime.late_results(said, tenant=options.tenant)

    async def _next_turn(self, options: RunOptions, earlier: Sequence[Item]) -> int:
        """After what was said, and after calls that were made in the session without a word."""
        known = await self.runtime.store.load_session(options.tenant, options.session) if options.session else None
        said = max((item.turn for item in earlier if isinstance(item, Message)), default=0)
        return 1 + max(said, 0 if known is None else known.turns)

    async def _load(self, run_id: str, tenant: str, output: Any = None) -> RunState:
        await self.runtime.open()
        state = await load_run(self.runtime.store, self.runtime.clock, tenant, run_id)
        if state.run.outcome and state.run.outcome not in RESUMABLE:
            raise ConfigError(f"run {run_id!r} has ended: {state.run.outcome}")
        self.runtime.check_turn(state.options.for_turn(run_id))
        for kind in (output, self._output):  # a type is not stored; one of another form is not the run's
            if kind is not None and output_format(kind) == state.options.output:
                state.output_type = kind
                break
        return state

    async def _trusted(self, options: RunOptions) -> tuple[RunOptions, tuple[WireWarning, ...]]:
        """As far as the model is trusted: by trust cards, or by a word of the catalogue where there are none."""
        trust = self.runtime.parts.trust
        if trust is not None:
            surface = await self.runtime.surface(**options.for_turn("", self._who))
            return heed_trust(options, surface, relaxes=trust.relaxes)
        if options.settings.tool_use_mode == "enforced" and isinstance(self._models, ModelRouter):
            return options, flag_enforced(options.model, self._models.tool_calling_of(options.model))
        return options, ()

    async def _turn(self, state: RunState, follower: EventSink, *, resumed: bool) -> Turn:
        """Before it is open there is no loop that could end a new run; one resumed stays as it was."""
        options = state.options.for_turn(state.run.run_id, self._who)
        options["on_event"] = follower
        try:
            return await self.runtime.begin_turn(options, state.run.turn, resumed=resumed, is_new=state.is_new)
        except asyncio.CancelledError:
            if not resumed:
                await see_through(end_unbegun(self.runtime.store, state))
            raise

    async def _events(self, state: RunState, *, resumed: bool) -> AsyncGenerator[Event]:
        """`run.ended` comes last, when everything that the run did is durable."""
        afterwards: list[Event] = []
        ended: Event | None = None
        turn = await self._turn(state, afterwards.append, resumed=resumed)
        try:
            async with aclosing(self._runner.stream(state, turn)) as events:
                async for event in events:
                    if isinstance(event, RunEnded):
                        ended = event
                    else:
                        yield event
        finally:
            await self.runtime.end_turn(turn)
        for event in afterwards:
            yield event
        if ended is not None:
            yield ended

    async def _collect(self, state: RunState, *, resumed: bool) -> RunResult:
        events: list[Event] = []
        turn = await self._turn(state, events.append, resumed=resumed)
        try:
            await self._runner.run(state, turn)
            ended = events.pop()
        finally:
            await self.runtime.end_turn(turn)
        events.append(ended)  # it comes last, as in a stream
        return _result(state, events, self.runtime.parts.schema_limits)


def _result(state: RunState, events: list[Event], limits: SchemaLimits) -> RunResult:
    outcome = state.outcome or Outcome.CANCELLED
    return RunResult(
        run_id=state.run.run_id,
        session_id=state.run.session_id,
        outcome=outcome,
        text=state.text,
        items=state.new_items,
        history=tuple(state.items),
        events=tuple(events),
        approvals=tuple(state.waiting.values()),
        warnings=tuple(state.warnings),
        steps=state.steps,
        usage=state.usage,
        cost=state.cost,
        failure=state.failure,
        output=_output_of(state, limits) if outcome is Outcome.COMPLETED else None,
    )


def _output_of(state: RunState, limits: SchemaLimits) -> Any:
    form = state.options.output
    if form is None or form.type == "text":
        return None
    return read_output(state.text, form, state.output_type, limits=limits)[0]


async def _next(events: AsyncGenerator[Event]) -> Event:
    return await anext(events)


def _as_named(model: str) -> tuple[str, str]:
    """A provider of somebody's own is known by what stands before the model's name."""
    provider, found, rest = model.partition("/")
    return (provider, rest) if found else ("custom", model)


def _registry(tools: Tools) -> Registry:
    if isinstance(tools, Registry):
        return tools
    if isinstance(tools, (str, Path)):
        return Registry.build(tools)
    return Registry(list(tools))
