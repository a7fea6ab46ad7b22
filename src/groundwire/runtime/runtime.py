"""The runtime: tools that can be called, approvals that can be given, effects that can be decided, records to prove it.

It is given its parts; `assembly` chooses them.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import AsyncIterator, Awaitable, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from functools import cached_property, partial
from typing import Any, Self, TypeVar, Unpack

import msgspec

from groundwire.contracts.audit import ChainReport, ChainVerifier
from groundwire.contracts.calls import ToolCall
from groundwire.contracts.canonical import JsonObject, JsonValue, dump_json, parse_json
from groundwire.contracts.errors import ConfigError, StoreError, StoreUnavailable
from groundwire.contracts.events import TurnEnded
from groundwire.contracts.jobs import JobHandler, Jobs
from groundwire.contracts.keys import ApiKey
from groundwire.contracts.messages import Item
from groundwire.contracts.ports import Database, Store
from groundwire.contracts.records import (
    Confirmation,
    ConfirmationStatus,
    Effect,
    EffectStatus,
)
from groundwire.contracts.results import ToolResult, decode_result
from groundwire.contracts.texts import NAME_CHARS, storable
from groundwire.registry import Registry
from groundwire.runtime.arguments import check_called, kept_call, kept_id, raw_of
from groundwire.runtime.attempt import Attempt, Caller
from groundwire.runtime.background import NOTHING_LATE, TOOL_JOBS, BackgroundTools, Late, result_of
from groundwire.runtime.context_window import context_usage, context_warning
from groundwire.runtime.desk import Desk
from groundwire.runtime.dispatcher import Dispatcher
from groundwire.runtime.gatekeeper import Gatekeeper
from groundwire.runtime.ledger import KEEP_SETTLED_SECONDS, Ledger
from groundwire.runtime.metrics import log_alerts, take_snapshot
from groundwire.runtime.output import encode_value
from groundwire.runtime.parts import RuntimeParts
from groundwire.runtime.policies.access import CALLERS
from groundwire.runtime.policies.limits import idle_patterns
from groundwire.runtime.portal import Portal
from groundwire.runtime.recorder import Recorder
from groundwire.runtime.sessions import Sessions, check_id
from groundwire.runtime.state import StateController
from groundwire.runtime.stored_calls import calls_of_run
from groundwire.runtime.surface import Surface
from groundwire.runtime.threads import DaemonThreads
from groundwire.runtime.turns import Turn, TurnOptions
from groundwire.runtime.validation import clip

EDIT_CHARS = 500
"""Of arguments that a person changed, this much is told to the model."""

log = logging.getLogger("groundwire")
T = TypeVar("T")


class Runtime:
    def __init__(self, registry: Registry, store: Store, parts: RuntimeParts) -> None:
        self.registry = registry
        self.store = store
        self.parts = parts
        self.clock, self.ids, self.telemetry = parts.clock, parts.ids, parts.telemetry
        self._ledger = Ledger(store, self.clock, self.ids, parts.times)
        self._sessions = Sessions(
            registry,
            store=store,
            clock=self.clock,
            ids=self.ids,
            policies=parts.policies,
            state=StateController(parts.reducers),
            trust=parts.trust,
        )
        self._recorder = Recorder(
            store=store, ledger=self._ledger, clock=self.clock, ids=self.ids, estimator=parts.estimator
        )
        self._background: BackgroundTools | None = None
        if parts.jobs is not None:
            self._background = BackgroundTools(parts.jobs, sessions=self._sessions, store=store, ids=self.ids)
        self._desk = Desk(registry, store=store, clock=self.clock, ids=self.ids, approvals=parts.approvals)
        self._threads = DaemonThreads()
        self._dispatcher = self._make_dispatcher()
        self._is_open = False
        self._portal: Portal | None = None
        self._portal_lock = threading.Lock()

    def _make_dispatcher(self) -> Dispatcher:
        parts = self.parts
        return Dispatcher(
            store=self.store,
            ledger=self._ledger,
            gatekeeper=Gatekeeper(
                store=self.store,
                ledger=self._ledger,
                clock=self.clock,
                ids=self.ids,
                flags=parts.flags,
                threads=self._threads,
                confirmation_seconds=parts.times.confirmation_seconds,
            ),
            recorder=self._recorder,
            clock=self.clock,
            ids=self.ids,
            threads=self._threads,
            resources=parts.resources,
            background=self._background,
            on_step=parts.on_step,
            telemetry=parts.telemetry,
        )

    async def open(self) -> None:
        """Connect the store. Happens by itself at the first use."""
        if not self._is_open:
            await self.store.open()
            self._is_open = True
            with suppress(StoreUnavailable):  # somebody else is writing, and will forget as well as we do
                await self.store.forget_effects(settled_before=self.clock.now() - KEEP_SETTLED_SECONDS)
            for pattern in idle_patterns(self.parts.policies, [tool.spec for tool in self.registry]):
                log.warning("a policy rule names %r, but no tool has such a name", pattern)
            if log.isEnabledFor(logging.INFO):
                self._log_context()

    async def close(self) -> None:
        """Write what is still waiting, and let go of the store."""
        try:
            if self.parts.jobs is not None:
                await self.parts.jobs.close()  # what it was working on is written before the store goes
            self._ledger.stop()
            if self._is_open:
                await self._recorder.flush()  # no head is noted: whoever closes need not have written anything
        finally:
            self._threads.close()
            await self.store.shut()  # an application's own tables may have opened it
        self._is_open = False

    async def __aenter__(self) -> Self:
        try:
            await self.open()
        except BaseException:  # nobody leaves a block that was not entered
            await self.store.shut()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def call(
        self,
        name: str,
        arguments: JsonObject | str | None = None,
        *,
        turn: Turn | None = None,
        call_id: str | None = None,
        idempotency_key: str | None = None,
        caller: Caller = "api",
        origin: str = "",
        **options: Unpack[TurnOptions],
    ) -> ToolResult:
        """Call a tool. Arguments are an object, or the JSON text of one. Outside a turn the call is a turn of its own."""
        if turn is not None:
            if options:
                raise TypeError(f"{min(options)!r} belongs to the turn; it cannot be given to a call inside it")
            return await self._dispatch(turn, name, arguments, call_id, idempotency_key, caller, origin)
        async with self.run_turn(options, None, resumed=False) as own:
            return await self._dispatch(own, name, arguments, call_id, idempotency_key, caller, origin)

    def call_sync(self, name: str, arguments: JsonObject | str | None = None, **options: Any) -> ToolResult:
        """The same without an event loop of one's own."""
        return self.run_sync(self.call(name, arguments, **options))

    def run_sync(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run any of this runtime's coroutines from ordinary code, on a loop in a thread of its own."""
        with self._portal_lock:
            if self._portal is None:
                self._portal = Portal()
        return self._portal.run(coroutine)

    @asynccontextmanager
    async def turn(self, **options: Unpack[TurnOptions]) -> AsyncIterator[Turn]:
        """A turn of several calls. At its end its intents are applied and everything it did is durable."""
        is_new = "run_id" not in options and not options.get("session")
        options.setdefault("run_id", self.ids.new("run"))
        async with self.run_turn(options, None, resumed=False, is_new=is_new) as turn:
            yield turn

    async def apply_intents(self, turn: Turn) -> None:
        """To be called after each batch of calls; the end of the turn does it too."""
        self._recorder.hand_over()  # the calls come before the wishes that they made
        if turn.intents:
            await self._sessions.apply_intents(turn)

    def after_batch(self, turn: Turn) -> Awaitable[None] | None:
        """The same, with nothing to wait for where nothing was wished for."""
        return self.apply_intents(turn) if turn.intents else None

    def carry(self, turn: Turn, call: ToolCall) -> Coroutine[Any, Any, ToolResult]:
        """A model's call inside a turn. CallWaits where it needs a person's agreement, and the turn pauses for that."""
        if turn.awaited:
            return self._carry_awaited(turn, call)
        attempt = Attempt(turn, kept_call(call), "model", given_id=True)
        attempt.task = asyncio.current_task(turn.loop)
        return self._dispatcher.start(attempt)

    async def _carry_awaited(self, turn: Turn, call: ToolCall) -> ToolResult:
        edited = await self._edited(turn, call.call_id)
        if edited is not None:
            call = msgspec.structs.replace(call, raw=raw_of(edited), arguments=None)
        attempt = Attempt(turn, kept_call(call), "model", given_id=True)
        if edited is not None:
            attempt.is_edited = True
            attempt.warn(f"The arguments were changed by the person who agreed, to {clip(attempt.raw, EDIT_CHARS)}.")
        attempt.task = asyncio.current_task(turn.loop)
        return await self._dispatcher.start(attempt)

    async def _edited(self, turn: Turn, call_id: str) -> JsonObject | None:
        """The arguments of the question that a call waited for, if they are a person's and not the model's."""
        waited_for = turn.awaited.get(call_id)
        answer = None if waited_for is None else await self.store.get_confirmation(turn.tenant, waited_for)
        if answer is None or not answer.edited or not isinstance(answer.arguments, dict):
            return None
        return {name: value for name, value in answer.arguments.items() if name not in answer.supplied}

    @asynccontextmanager
    async def run_turn(
        self, options: TurnOptions, number: int | None, *, resumed: bool, is_new: bool = False
    ) -> AsyncIterator[Turn]:
        """The turn of a run. One that was cut off or paused has its counts as they were.

        `is_new`: the run's id was made for it, so that nothing is stored under it.
        """
        self.check_turn(options)
        turn = await self.begin_turn(options, number, resumed=resumed, is_new=is_new)
        try:
            yield turn
        finally:
            await self.end_turn(turn)

    async def begin_turn(
        self, options: TurnOptions, number: int | None, *, resumed: bool, is_new: bool = False
    ) -> Turn:
        """The same without a block around it. What `check_turn` would refuse must not get here."""
        await self.open()
        turn = await self._sessions.open_turn(options, number)
        turn.is_new = is_new and turn.session is None
        if resumed:
            await self._rebuild(turn)
        return turn

    async def end_turn(self, turn: Turn) -> None:
        """Apply its intents, and make everything durable that it did."""
        turn.is_ended = True
        self._recorder.hand_over()
        await self._sessions.close_turn(turn)
        await self._flush()
        if not turn.is_paused:
            turn.emit(TurnEnded(session_id=turn.session_id, turn=turn.number, calls=turn.calls))

    @property
    def jobs(self) -> Jobs:
        """Work for later, kept beside the store."""
        if self.parts.jobs is None:
            raise ConfigError("this runtime keeps no jobs", hint="Runtime(…, jobs=open_jobs(url))")
        return self.parts.jobs

    async def work(self, handlers: Mapping[str, JobHandler] | None = None) -> None:
        """Carry out background calls in this process from now on, and jobs of these kinds, until closed."""
        jobs, background = self.jobs, self._background
        await self.open()
        own: dict[str, JobHandler] = {}
        if background is not None:
            own[TOOL_JOBS] = partial(background.run, self._dispatcher.carry_on)
        await jobs.start(own | dict(handlers or {}))

    async def job_result(self, job_id: str, *, tenant: str = "default") -> ToolResult:
        """What came of a background call; waits until it has ended, wherever it is carried out."""
        return result_of(await self.jobs.wait(job_id, tenant=tenant))

    @cached_property
    def has_background_tools(self) -> bool:
        return self._background is not None and any(tool.spec.policy.background for tool in self.registry)

    async def late_results(self, items: Sequence[Item], *, tenant: str) -> Late:
        """What has come of the background calls in a conversation since it was last told."""
        if self._background is None or not self.has_background_tools:
            return NOTHING_LATE
        return await self._background.late(items, tenant)

    async def registry_version(self, session: str | None, *, tenant: str = "default") -> str:
        """The version whose tools a turn gets: that of its session, or the present one."""
        await self.open()
        known = await self.store.load_session(tenant, session) if session is not None else None
        return known.registry_version if known is not None else self.registry.version

    async def surface(self, **options: Unpack[TurnOptions]) -> Surface:
        """What a turn with these options would offer, with its limits. Begins no turn and makes no session."""
        await self.open()
        return await self._sessions.look(options)

    def check_turn(self, options: TurnOptions) -> None:
        """Whether there can be such a turn; a ConfigError says why not."""
        self._sessions.check(options)

    async def end_session(self, session: str, *, tenant: str = "default") -> bool:
        await self.open()
        return await self._sessions.end(tenant, session)

    async def approve(
        self,
        confirmation_id: str,
        *,
        by: str,
        note: str = "",
        arguments: JsonObject | None = None,
        tenant: str = "default",
        key_id: str = "",
    ) -> Confirmation:
        """Approve a call: the same call then passes once; with `arguments`, only with these in place of its own.

        `key_id` is the API key with which a server was asked to decide: SelfApproval if the call is that key's own, unless
        settings allow it.
        """
        await self.open()
        status = ConfirmationStatus.APPROVED
        return await self._decide(tenant, confirmation_id, status, by, note, arguments, key_id=key_id)

    async def deny(
        self, confirmation_id: str, *, by: str, note: str = "", tenant: str = "default", key_id: str = ""
    ) -> Confirmation:
        """Refuse a call: the same call is then refused until the approval expires."""
        await self.open()
        return await self._decide(tenant, confirmation_id, ConfirmationStatus.DENIED, by, note, key_id=key_id)

    async def approvals(
        self,
        *,
        status: ConfirmationStatus | None = ConfirmationStatus.PENDING,
        tenant: str = "default",
        before: str = "",
        limit: int = 50,
    ) -> list[Confirmation]:
        """Questions to people, newest first. Those that have run out are not pending any more."""
        await self.open()
        return await self._desk.questions(tenant, status, before, limit)

    async def effects(
        self, *, status: EffectStatus | None = None, tenant: str = "default", before: str = "", limit: int = 50
    ) -> list[Effect]:
        """The ledger, newest first. Reservations of those who died are unknown."""
        await self.open()
        return await self.store.list_effects(tenant, status=status, before=before, limit=limit, now=self.clock.now())

    async def reconcile(
        self,
        effect_id: str,
        *,
        happened: bool,
        by: str,
        data: JsonValue = None,
        note: str = "",
        tenant: str = "default",
        key_id: str = "",
    ) -> None:
        """A person's word on an unknown effect: it happened (with this result), or it did not and may run again."""
        await self.open()
        result = ToolResult(ok=True, data=parse_json(encode_value(data))) if happened else None
        await self._desk.reconcile(tenant, effect_id, result, by=by, note=note, key_id=key_id)
        await self._flush()

    async def create_key(self, key: ApiKey, *, by: str) -> None:
        """Let whoever has its secret in, from now on."""
        await self.open()
        await self._desk.create_key(key, by=by)
        await self._flush()

    async def revoke_key(self, key: ApiKey, *, by: str) -> bool:
        """Let nobody in with it any more, anywhere; False where somebody has done so before."""
        await self.open()
        is_revoked = await self._desk.revoke_key(key, by=by)
        await self._flush()
        return is_revoked

    async def verify_audit(self, *, with_checkpoints: bool = False) -> ChainReport:
        """Read the whole chain and say what does not fit, also with the heads that were noted outside the store."""
        await self.open()
        checkpoints = self.parts.checkpoints
        if with_checkpoints and checkpoints is None:
            raise ConfigError(
                "no checkpoint file is configured", hint='set [audit] checkpoint = "…" in groundwire.toml'
            )
        noted = checkpoints.read() if with_checkpoints and checkpoints is not None else ()
        verifier = ChainVerifier(self.parts.chain, checkpoints=noted, head=await self.store.audit_head())
        async for record in self.store.audit_records():
            verifier.feed(record)
        return verifier.finish(await self.store.audit_head())

    async def prune_audit(self, *, older_than_seconds: float, by: str) -> int:
        """Remove old records; the chain keeps a record of that, and stays provable from there on."""
        if not older_than_seconds >= 0:
            raise ConfigError(f"records cannot be older than {older_than_seconds!r} seconds", hint="0 or more")
        await self.open()
        removed = await self._desk.prune(older_than_seconds, by=by)
        await self._flush()
        return removed

    async def metrics(self, *, tenant: str = "default") -> JsonObject:
        """The snapshot behind /metrics. Alerts in it are logged as warnings too."""
        await self.open()
        await self._recorder.flush()
        snapshot = await take_snapshot(self.store, tenant, context=self.context_usage())
        log_alerts(snapshot)
        return snapshot

    def context_usage(self, *, mode: str = "text", format_: str = "openai") -> JsonObject:
        """Tokens that a session starts with: the system prompt and the declarations of the tools."""
        surface = self._sessions.surface(self.registry, mode, "")
        names = [tool.spec.tool_id for tool in surface.offered()]
        declared = dump_json([*self.registry.declarations(format_, names=names)]).decode()
        usage = context_usage(self.parts.estimator, system_prompt=self.parts.system_prompt, declarations=declared)
        warning = context_warning(int(str(usage["sessionInitTokens"])))
        if warning is not None:
            log.warning("before anybody has spoken, %s", warning)
        return usage

    @property
    def database(self) -> Database:
        """An application's own tables, in the same store."""
        return self.store.database

    async def _dispatch(
        self,
        turn: Turn,
        name: str,
        arguments: JsonObject | str | None,
        call_id: str | None,
        idempotency_key: str | None,
        caller: Caller,
        origin: str,
    ) -> ToolResult:
        if turn.is_ended:
            raise ConfigError("this turn has ended", hint="make the call inside `async with runtime.turn(…)`")
        check_called(name, arguments)
        if idempotency_key is not None:
            check_id("idempotency", idempotency_key)
        if caller not in CALLERS:
            raise ConfigError(f"there is no caller {caller!r}", hint=f"callers are {', '.join(CALLERS)}")
        call = ToolCall(
            call_id=self.ids.new("call") if call_id is None else kept_id(call_id),
            name=storable(name)[:NAME_CHARS],
            raw=raw_of(arguments),
            origin=origin or caller,
        )
        attempt = Attempt(turn, call, caller, given_id=call_id is not None)
        attempt.given_key = idempotency_key
        attempt.task = asyncio.current_task()
        return await self._dispatcher.start(attempt)

    def _log_context(self) -> None:
        usage = self.context_usage()
        log.info(
            "a session starts with %d tokens: system prompt %d, %d tools %d",
            usage["sessionInitTokens"],
            usage["systemPromptTokens"],
            len(self.registry),
            usage["toolDeclTokens"],
        )

    async def _rebuild(self, turn: Turn) -> None:
        records = await calls_of_run(self.store, turn.tenant, turn.conversation_id, turn.run_id)
        turn.rebuild(records, decode_result)
        if any(decode_result(record.result).meta.spilled for record in records):
            self._recorder.offer_reading(turn)

    async def _decide(
        self,
        tenant: str,
        confirmation_id: str,
        status: ConfirmationStatus,
        by: str,
        note: str,
        arguments: JsonObject | None = None,
        *,
        key_id: str = "",
    ) -> Confirmation:
        decided = await self._desk.decide(
            tenant, confirmation_id, status, by=by, note=note, arguments=arguments, key_id=key_id
        )
        await self._flush()
        return decided

    async def _flush(self) -> None:
        head = await self._recorder.flush()
        if self.parts.checkpoints is not None and head.seq:
            try:
                self.parts.checkpoints.append(head)
            except (OSError, StoreError):  # what happened has happened and is recorded; only its note is missing
                log.exception("the head of the audit chain could not be noted")
