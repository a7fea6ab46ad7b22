"""An agent: a model, tools, and the loop between them. `run` gives the end, `stream` everything on the way."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterable, Iterator, Mapping, Sequence
from contextlib import aclosing
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self, TypeAlias

from groundwire.assembly import Runtime, Settings, open_models
from groundwire.contracts.errors import ConfigError, RunExists
from groundwire.contracts.events import Event, RunEnded
from groundwire.contracts.jobs import JobHandler
from groundwire.contracts.messages import Item, Message
from groundwire.contracts.ports import Clock, Provider, Store
from groundwire.contracts.replies import Usage, WireWarning
from groundwire.contracts.runs import Outcome, Run, Started
from groundwire.providers.router import ModelRouter, who_answers
from groundwire.registry import Registry, Tool
from groundwire.registry.validators import compile_schema
from groundwire.runtime.background import NOTHING_LATE, Late
from groundwire.runtime.finishing import see_through
from groundwire.runtime.runs.actions import RunActions
from groundwire.runtime.runs.history import NO_CONVERSATION, begin_run, conversation_of, load_run, record_cancelled
from groundwire.runtime.runs.leases import RunLease, RunLeases
from groundwire.runtime.runs.option_reading import OptionReader, no_presets
from groundwire.runtime.runs.options import RunLimits, RunOptions
from groundwire.runtime.runs.prompts import Prompt, output_format, read_history, read_prompt
from groundwire.runtime.runs.results import RunResult, result_of
from groundwire.runtime.runs.resumption import RunEndedHook, RunResumer
from groundwire.runtime.runs.runner import Price, Runner, check_output, ended_event, no_price
from groundwire.runtime.runs.settings import RunSettings
from groundwire.runtime.runs.state import RunState
from groundwire.runtime.runs.trusting import flag_enforced, heed_trust
from groundwire.runtime.runs.watching import RunWatch
from groundwire.runtime.turns import EventSink, Turn

if TYPE_CHECKING:
    from groundwire.runtime.runs.replaying import ReplayReport

Tools: TypeAlias = Registry | str | Path | Iterable[Tool]


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
        self._leases = RunLeases(self.runtime)
        self._resumer: RunResumer | None = None
        self._who = None if self.runtime.parts.trust is None else who_answers(self._models)

    async def run(
        self, prompt: Prompt = None, *, history: Sequence[Item] | None = None, run_id: str = "", **changes: Any
    ) -> RunResult:
        """From a message to a result. `changes` are options for this run only, such as `session`.

        A `run_id` of one's own makes sure that there is one such run: a second one is refused, and can be resumed.
        """
        state = await self._begin(prompt, history, run_id, changes)
        return await self._collect(state, resumed=False)

    async def submit(
        self, prompt: Prompt = None, *, history: Sequence[Item] | None = None, run_id: str = "", **changes: Any
    ) -> str:
        """Store a run for a worker to execute (`work`, in this process or another), and return its id."""
        state = await self._begin(prompt, history, run_id, changes, is_held=False)
        self.notify()
        return state.run.run_id

    async def run_once(
        self, run_id: str, prompt: Prompt = None, *, history: Sequence[Item] | None = None, **changes: Any
    ) -> RunResult:
        """Start the run of that id, continue it where it stopped, or return its result if it has ended.

        Concurrent callers, in any process, all get the result of the one run. The result of a run that was continued or had
        ended has all `items`, but only the events and calls of this process.
        """
        await self.runtime.open()
        tenant = self._options.read(changes).tenant
        if await self.runtime.store.load_run(tenant, run_id) is None:
            try:
                return await self.run(prompt, history=history, run_id=run_id, **changes)
            except RunExists:  # another caller was faster
                pass
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
        """Resume a run that was paused, cancelled or interrupted, or whose provider failed.

        Waits while another process executes it; raises RunInProgress if that takes too long. For a run that has ended, returns
        its result again, without events. `output` is the type of its answer, if that is not the agent's.
        """
        state = await self._load(run_id, tenant, output)
        return (
            result_of(state, [], self.runtime.parts.schema_limits)
            if state.outcome is not None
            else await self._collect(state, resumed=True)
        )

    async def resume_stream(self, run_id: str, *, tenant: str = "default") -> AsyncGenerator[Event]:
        """Like `resume`, but yields events. A run that has ended yields only `run.ended`."""
        state = await self._load(run_id, tenant)
        if state.outcome is not None:
            yield ended_event(state, state.outcome)
            return
        async with aclosing(self._events(state, resumed=True)) as events:
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

    async def work(
        self,
        handlers: Mapping[str, JobHandler] | None = None,
        *,
        when_needed: bool = False,
        on_run_ended: RunEndedHook | None = None,
    ) -> None:
        """Execute background calls, jobs of these kinds, and runs that are due, in this process, until closed.

        A run is due when an approval that it waits for was decided or has expired, when its process died, or when
        a person asked for it (`request_resume`). With `when_needed`, no worker on jobs is started before a run
        is due.
        """
        await self.runtime.open()
        if self._resumer is not None:
            raise ConfigError("This agent executes jobs already.", hint="Call work() once, and close() to stop.")
        resumer = self._resumer = RunResumer(
            self.runtime, self._leases, self._resume_as_job, handlers=handlers or {}, on_ended=on_run_ended
        )
        if not when_needed:
            await resumer.start_jobs()
            await resumer.sweep()
        resumer.start()

    async def cancel(self, run_id: str, *, by: str, note: str = "", tenant: str = "default") -> Run:
        """Cancel a run, in whichever process it is. One that is being executed stops within seconds."""
        run = await RunActions(self.runtime).cancel(run_id, by=by, note=note, tenant=tenant)
        self.notify()
        return run

    async def request_resume(self, run_id: str, *, by: str, note: str = "", tenant: str = "default") -> Run:
        """Have a run resumed by a process that works on jobs, instead of here."""
        run = await RunActions(self.runtime).request_resume(run_id, by=by, note=note, tenant=tenant)
        self.notify()
        return run

    def notify(self) -> None:
        """Poll for due runs now: this process has decided an approval, or requested that a run be resumed or cancelled."""
        if self._resumer is not None:
            self._resumer.notify()

    async def _resume_as_job(self, tenant: str, run_id: str) -> Outcome:
        state = await self._load(run_id, tenant)
        if state.outcome is not None:
            return state.outcome
        state.is_job = True
        return (await self._collect(state, resumed=True)).outcome

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
        resumer, self._resumer = self._resumer, None
        if resumer is not None:
            await resumer.close()
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
        self,
        prompt: Prompt,
        history: Sequence[Item] | None,
        run_id: str,
        changes: dict[str, Any],
        *,
        is_held: bool = True,
    ) -> RunState:
        """Store a new run: held for an execution here, or due, so that any worker may take it."""
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
            due_at=now,
        )
        if is_held:
            run = self._leases.lend(run)
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
        """Claim a run and read it. If it has ended, the state has its outcome and nothing is claimed."""
        await self.runtime.open()
        run = await self._leases.claim(tenant, run_id)
        try:
            state = await load_run(self.runtime.store, self.runtime.clock, tenant, run_id)
            self.runtime.check_turn(state.options.for_turn(run_id))
        except BaseException:
            if not run.is_ended:
                await see_through(self._leases.give_up(run))
            raise
        for kind in (output, self._output):  # a type is not stored; one of another form is not the run's
            if kind is not None and output_format(kind) == state.options.output:
                state.output_type = kind
                break
        state.outcome = Outcome(run.outcome) if run.is_ended else None
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
                await see_through(record_cancelled(self.runtime.store, state))
            raise

    async def _events(self, state: RunState, *, resumed: bool) -> AsyncGenerator[Event]:
        """`run.ended` comes last, when everything that the run did is durable."""
        afterwards: list[Event] = []
        ended: Event | None = None
        with self._leases.hold(state) as lease:
            try:
                turn = await self._turn(state, afterwards.append, resumed=resumed)
                try:
                    async with aclosing(self._runner.stream(state, turn)) as events:
                        async for event in events:
                            if isinstance(event, RunEnded):
                                ended = event
                            else:
                                yield event
                except asyncio.CancelledError:
                    if not lease.absorbs_cancellation():
                        raise
                finally:
                    await self.runtime.end_turn(turn)
            finally:
                await self._leases.release(lease)
        for event in afterwards:
            yield event
        if ended is not None:
            yield ended

    async def _collect(self, state: RunState, *, resumed: bool) -> RunResult:
        events: list[Event] = []
        with self._leases.hold(state) as lease:
            try:
                turn = await self._turn(state, events.append, resumed=resumed)
                try:
                    await self._execute(state, turn, lease)
                    ended = events.pop()
                finally:
                    await self.runtime.end_turn(turn)
            finally:
                await self._leases.release(lease)
        events.append(ended)  # it comes last, as in a stream
        return result_of(state, events, self.runtime.parts.schema_limits)

    async def _execute(self, state: RunState, turn: Turn, lease: RunLease) -> None:
        try:
            await self._runner.run(state, turn)
        except asyncio.CancelledError:
            if not lease.absorbs_cancellation():
                raise


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
