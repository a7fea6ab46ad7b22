"""Sessions: opened once, pinned to a registry version, and changed only through here.

Every change is a compare-and-set on the stored session, so two processes cannot undo each other's.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from types import MappingProxyType
from weakref import WeakValueDictionary

import msgspec

from groundwire.contracts.canonical import JsonObject, digest
from groundwire.contracts.errors import ConfigError, StoreError
from groundwire.contracts.events import IntentApplied
from groundwire.contracts.interrupts import is_from_signal
from groundwire.contracts.messages import Message
from groundwire.contracts.ports import Clock, Grant, Ids, Store, TrustPolicy
from groundwire.contracts.records import AuditEntry, Closing, Session
from groundwire.registry import Registry
from groundwire.runtime.clock import to_iso
from groundwire.runtime.policies.access import Mask
from groundwire.runtime.policies.limits import MODE_HARD_MS, Overrides, Policies
from groundwire.runtime.policies.loops import KEPT_TURNS
from groundwire.runtime.state import StateController, at_turn_start
from groundwire.runtime.surface import Surface
from groundwire.runtime.turns import Conversation, Turn, TurnOptions

log = logging.getLogger("groundwire")

MAX_ID_CHARS = 256
MAX_TRIES = 50
MAX_SURFACES = 256
OPTIONS = frozenset(TurnOptions.__annotations__)
_IDS = frozenset({"tenant", "run_id", "session"})
_TEXTS = _IDS | {"request_id", "actor", "key_id", "user", "organisation"}


class Sessions:
    def __init__(
        self,
        registry: Registry,
        *,
        store: Store,
        clock: Clock,
        ids: Ids,
        policies: Policies,
        state: StateController,
        trust: TrustPolicy | None = None,
    ) -> None:
        self._registry = registry
        self._store = store
        self._clock = clock
        self._ids = ids
        self._policies = policies
        self._state = state
        self._trust = trust
        self._registries: dict[str, Registry] = {registry.version: registry}
        self._saved: set[str] = set()
        self._surfaces: dict[tuple[object, ...], Surface] = {}
        self._conversations: WeakValueDictionary[tuple[object, str, str], Conversation] = WeakValueDictionary()

    async def open_turn(self, options: TurnOptions, number: int | None = None) -> Turn:
        """Begin a turn: load or create its session, and take the registry version that the session is pinned to.

        Its number is the next one of the session, unless whoever opens it has counted. The options were checked.
        """
        session_id = options.get("session")
        if session_id is None:
            return Turn(self._surface_for(self._registry, options), None, number=number or 1, options=options)
        session = await self.open(options.get("tenant", "default"), session_id, options.get("mode", "text"))
        registry = await self._pinned(session.registry_version)
        session, pending = await self._begin(session)
        turn = Turn(
            self._surface_for(registry, options),
            session,
            number=number or session.turns + 1,
            options=options,
            conversation=self._conversation(session),
        )
        turn.pending_message = pending
        return turn

    async def look(self, options: TurnOptions) -> Surface:
        """What a turn with these options would offer. Nothing begins: a session that is not there yet is not made."""
        self.check(options)
        session_id = options.get("session")
        known = (
            None if session_id is None else await self._store.load_session(options.get("tenant", "default"), session_id)
        )
        registry = self._registry if known is None else await self._pinned(known.registry_version)
        return self._surface_for(registry, options)

    def check(self, options: TurnOptions) -> None:
        """Whether there can be such a turn; a ConfigError says why not."""
        self._check(options.get("mode", "text"), options.get("profile", ""))
        if not options.keys() <= OPTIONS:  # a misspelt one would be left out without a word
            raise TypeError(f"there is no option {min(options.keys() - OPTIONS)!r}")
        if not all(isinstance(message, Message) for message in options.get("history") or ()):
            raise ConfigError(
                "the history holds something that is no Message", hint='groundwire.say("user", "…") makes one'
            )
        for what, value in options.items():
            if what in _TEXTS:
                check_text(what, value)
            if what in _IDS and value:
                check_id(what.removesuffix("_id"), str(value))

    async def _begin(self, session: Session) -> tuple[Session, JsonObject | None]:
        """Clear what held for the last turn. A pending message is for the turn that takes it out of the store, alone."""
        state, pending = at_turn_start(session.state)
        if pending is None:
            return msgspec.structs.replace(session, state=state), None
        taken: list[JsonObject | None] = []

        def begun(fresh: Session) -> Session:
            state, pending = at_turn_start(fresh.state)
            taken[:] = [pending]
            return msgspec.structs.replace(fresh, state=state, updated_at=self._clock.now())

        session = await self._change(session, begun)
        return session, taken[0]

    def _conversation(self, session: Session) -> Conversation:
        """Shared by the turns of one session that are open at the same time, on one loop: another's cannot be awaited."""
        identity = (asyncio.get_running_loop(), session.tenant, session.session_id)
        conversation = self._conversations.get(identity)
        if conversation is None:
            conversation = self._conversations[identity] = Conversation()
        return conversation

    async def open(self, tenant: str, session_id: str, mode: str) -> Session:
        check_id("session", session_id)
        session = await self._store.load_session(tenant, session_id)
        if session is not None:
            return session
        version = self._registry.version
        if version not in self._saved:
            await self._store.save_artifact(version, self._registry.artifact())
            self._saved.add(version)
        now = self._clock.now()
        return await self._store.create_session(
            Session(
                tenant=tenant,
                session_id=session_id,
                mode=mode,
                registry_version=version,
                created_at=now,
                updated_at=now,
            )
        )

    async def end(self, tenant: str, session_id: str) -> bool:
        """Close a session for good: later calls are refused as SESSION_INACTIVE. False when it is not open."""
        session = await self._store.load_session(tenant, session_id)
        if session is None or session.status == "ended":
            return False
        now = self._clock.now()
        await self._change(
            session, lambda fresh: msgspec.structs.replace(fresh, status="ended", ended_at=now, updated_at=now)
        )
        return True

    async def apply_intents(self, turn: Turn) -> None:
        """Make the wishes of the calls so far come true, in the order in which the calls ended, and write them down."""
        wishes, turn.intents = turn.intents, []
        known = [(call_id, tool, intent) for call_id, tool, intent in wishes if self._state.knows(intent)]
        for call_id, tool, intent in wishes:
            if not self._state.knows(intent):
                log.warning("call %s (%s) wished for %s, which nobody here can do", call_id, tool, intent.type)
        if not known:
            return
        granted = list(known)

        def wished(session: Session) -> Session:
            state = session.state
            granted.clear()
            for wish in known:
                try:
                    state = self._state.apply(state, wish[2])
                except BaseException as error:  # the application's reducer: the call has happened, and is recorded
                    if is_from_signal(error):
                        raise
                    log.exception("The reducer of intent %s failed (call %s of %s).", wish[2].type, wish[0], wish[1])
                else:
                    granted.append(wish)
            return msgspec.structs.replace(session, state=state, updated_at=self._clock.now())

        if turn.session is not None:
            turn.session = await self._change(turn.session, wished)
            turn.show_state()
        else:  # the turn is all there is; what is wished for holds as long as it does
            alone = Session(tenant=turn.tenant, session_id="", state=dict(turn.state))
            turn.state = MappingProxyType(wished(alone).state)
        for call_id, tool, intent in granted:
            entry = self._intent_entry(turn, call_id, tool, intent.type, digest(intent.payload))
            self._store.enqueue(Closing(call=None, entry=entry))
            turn.emit(IntentApplied(call_id=call_id, intent=intent))

    async def close_turn(self, turn: Turn) -> None:
        if turn.intents:
            await self.apply_intents(turn)
        if turn.session is None or turn.is_paused:
            return

        def turned(session: Session) -> Session:
            return msgspec.structs.replace(
                session,
                turns=session.turns + 1,
                calls=session.calls + turn.calls,
                peak_tokens=max(session.peak_tokens, turn.peak_tokens),
                loop_history=(*session.loop_history, turn.loop_record())[-KEPT_TURNS:],
                updated_at=self._clock.now(),
            )

        turn.session = await self._change(turn.session, turned)

    async def surface_of(self, version: str, options: TurnOptions) -> Surface:
        """What that version of the registry offers under these options."""
        return self._surface_for(await self._pinned(version), options)

    def surface(
        self,
        registry: Registry,
        mode: str,
        profile: str,
        mask: Mask | None = None,
        limits: Overrides | None = None,
        grant: Grant | None = None,
    ) -> Surface:
        identity = (registry.version, mode, profile, mask, limits, grant)
        surface = self._surfaces.get(identity)
        if surface is None:
            if len(self._surfaces) >= MAX_SURFACES:  # callers choose masks; a new one for each run must not add up
                self._surfaces.clear()
            surface = Surface(
                registry,
                mode=mode,
                profile=profile,
                policies=self._policies,
                narrowing=mask,
                limits=limits,
                grant=grant,
            )
            self._surfaces[identity] = surface
        return surface

    def _surface_for(self, registry: Registry, options: TurnOptions) -> Surface:
        mode, profile = options.get("mode", "text"), options.get("profile", "")
        asked, grant = options.get("asked"), None
        if self._trust is not None and asked is not None:  # whoever is no model's run needs nobody's trust
            grant = self._trust.grant(asked, now=self._clock.now())
        return self.surface(registry, mode, profile, options.get("mask"), options.get("limits"), grant)

    async def _change(self, session: Session, change: Callable[[Session], Session]) -> Session:
        for _ in range(MAX_TRIES):
            changed = change(session)
            if await self._store.save_session(changed):
                return msgspec.structs.replace(changed, version=changed.version + 1)
            found = await self._store.load_session(session.tenant, session.session_id)
            if found is None:
                raise StoreError(f"session {session.session_id!r} disappeared")
            session = found
        raise StoreError(f"session {session.session_id!r} is changed by too many at once")

    async def _pinned(self, version: str) -> Registry:
        registry = self._registries.get(version)
        if registry is None:
            artifact = await self._store.load_artifact(version)
            if artifact is None:
                raise StoreError(f"the registry version {version} of this session is not in the store")
            registry = self._registries[version] = self._registry.older(artifact)
        return registry

    def _check(self, mode: str, profile: str) -> None:
        if mode not in MODE_HARD_MS:
            raise ConfigError(f"there is no mode {mode!r}", hint="modes are text and voice")
        if profile and profile not in self._policies.profiles:
            known = ", ".join(sorted(self._policies.profiles)) or "none is configured"
            raise ConfigError(f"there is no profile {profile!r}", hint=f"profiles: {known}")

    def _intent_entry(self, turn: Turn, call_id: str, tool: str, intent_type: str, payload_hash: str) -> AuditEntry:
        return AuditEntry(
            id=self._ids.new("aud"),
            tenant=turn.tenant,
            request_id=turn.request_id or turn.run_id or call_id,
            tool_name=tool,
            input_hash=payload_hash,
            output_hash=digest(dict(turn.state)),
            success=True,
            duration_ms=0.0,
            created_at=to_iso(self._clock.now()),
            kind="intent",
            session_id=turn.session_id,
            call_id=call_id,
            run_id=turn.run_id,
            actor=turn.actor,
            decision="applied",
            reason=intent_type,
            intents=(intent_type,),
            registry_version=turn.surface.registry.version,
        )


def check_text(what: str, value: object) -> None:
    """The record is made of texts; anything else would come back from a store as another value than went in."""
    if value is not None and not isinstance(value, str):
        raise ConfigError(f"{what} is a text, not {value!r:.40}")


def is_id(value: str) -> bool:
    return 0 < len(value) <= MAX_ID_CHARS and value.isprintable()


def check_id(what: str, value: str) -> None:
    if not is_id(value):
        raise ConfigError(f"{value[:40]!r} cannot be a {what} id", hint=f"use 1 to {MAX_ID_CHARS} printable characters")
