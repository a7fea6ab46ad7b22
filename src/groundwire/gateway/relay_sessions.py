"""Sessions of the relay: what goes into a client's request, and what is kept back of the answer.

All of it is in the store, by tenant and session, so any process can serve any step. Tools and their configuration are
those of the conversation of the same name. Knows no HTTP and no provider.
"""

import logging
import secrets
from collections.abc import Container, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from groundwire.codecs import gemini
from groundwire.codecs.caching import ToolCache
from groundwire.codecs.wire.pairing import is_models
from groundwire.contracts.canonical import JsonObject, JsonValue
from groundwire.contracts.messages import CallItem, Item, say
from groundwire.contracts.ports import Clock
from groundwire.contracts.replies import Finish, FinishReason, Reply
from groundwire.contracts.requests import DeclaredTool, ModelRequest, NativeTool
from groundwire.contracts.servers import ServerSettings
from groundwire.gateway.governed import is_ours
from groundwire.gateway.relay_tables import CallRow, RelayTables, StepRow
from groundwire.gateway.rewriting import KnownStep, Rewriting, ToolContext, rewrite
from groundwire.gateway.threads import Offer, Threads

log = logging.getLogger("groundwire.gateway")

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(tuple[Item, ...]).decode
_FIRST_PAUSE, _LONGEST_PAUSE = 0.02, 0.5
_SAID = Finish(reason=FinishReason.END)
_NO_ANSWERS = (FinishReason.INCOMPLETE, FinishReason.FAILED)


class RelayTurn(Struct, kw_only=True):
    """One request of the client on its way. `steps` are those in the body, as the model made them, in order."""

    tenant: str
    session: str
    rewriting: Rewriting
    names: Mapping[str, str]
    steps: list[tuple[Item, ...]]
    taken: list[str]
    open_steps: list[str]
    is_over: bool = False
    is_captured: bool = False


class RelaySessions:
    def __init__(self, tables: RelayTables, threads: Threads, clock: Clock, settings: ServerSettings) -> None:
        self._tables = tables
        self._threads = threads
        self._clock = clock
        self._wait = settings.relay_wait
        self.placeholder = settings.relay_placeholder

    async def has_all_results(self, tenant: str, session: str) -> bool:
        """Wait until every call of the session has its result; False where some did not come in time."""
        until = self._clock.monotonic() + self._wait
        pause = _FIRST_PAUSE
        while await self._tables.waiting_calls(tenant, session):
            left = until - self._clock.monotonic()
            if left <= 0:
                return False
            await self._clock.sleep(min(pause, left))
            pause = min(2 * pause, _LONGEST_PAUSE)
        return True

    async def begin(self, tenant: str, session: str, model: str, body: bytes) -> RelayTurn:
        """Take the results that are there, and put them with all else of the session into the body."""
        offer = await self._threads.offer(tenant, session)
        steps = await self._tables.steps(tenant, session)
        calls = await self._tables.calls(tenant, session) if steps else []
        taken: set[str] = set()
        if any(call.state == "ready" for call in calls):
            taken = await self._tables.take_results(tenant, session)
        declared = offer_body(offer, model)
        by_step: dict[str, list[CallRow]] = {}
        for call in calls:
            by_step.setdefault(call.step_id, []).append(call)
        answered = [step for step in steps if all(call.result for call in by_step[step.step_id])]
        context = ToolContext(
            placeholder=self.placeholder,
            tools=declared.tools,
            tool_config=declared.tool_config,
            steps=known_steps(answered, by_step, taken, offer.tools, model),
        )
        rewriting = rewrite(body, context)
        if rewriting.problem:
            log.warning("Relay session %s: the request is sent on as it is. %s", session, rewriting.problem)
        placed = {step.step_id: step for step in answered if step.step_id in rewriting.placed}
        turn = RelayTurn(
            tenant=tenant,
            session=session,
            rewriting=rewriting,
            names=declared.names,
            steps=[_decode(placed[step_id].items) for step_id in rewriting.placed],
            taken=[call.call_id for call in calls if call.call_id in taken and call.step_id in placed],
            open_steps=[step_id for step_id, step in placed.items() if step.is_open],
        )
        await self._note_places(turn, placed, sorted(taken.difference(turn.taken)))
        return turn

    async def end(self, turn: RelayTurn, reply: Reply) -> Reply:
        """What the client is shown of the model's reply; calls are kept for the session's owner."""
        turn.is_over = reply.finish.reason not in _NO_ANSWERS
        calls = reply.calls
        if not calls:
            for step_id in turn.open_steps if turn.is_over else ():
                await self._tables.close_step(turn.tenant, turn.session, step_id)
            return reply
        said = tuple(item for item in reply.items if type(item) is not CallItem)
        if not all(call.complete for call in calls):
            return replace(reply, items=said, alternatives=())
        await self._capture(turn, reply.items, calls)
        turn.is_captured = True
        return replace(reply, items=(*said, say("assistant", self.placeholder)), finish=_SAID, alternatives=())

    async def give_back(self, turn: RelayTurn) -> None:
        """The request came to nothing; the next one brings its results."""
        if turn.taken and not turn.is_over:
            await self._tables.give_back(turn.tenant, turn.session, turn.taken)

    async def _note_places(self, turn: RelayTurn, placed: Mapping[str, StepRow], unplaced: Sequence[str]) -> None:
        if unplaced:
            await self._tables.give_back(turn.tenant, turn.session, unplaced)
        for step_id, context in turn.rewriting.placed.items():
            if context != placed[step_id].context:
                await self._tables.move_step(turn.tenant, turn.session, step_id, context)

    async def _capture(self, turn: RelayTurn, items: Sequence[Item], calls: Sequence[CallItem]) -> None:
        step = StepRow(
            step_id=f"step_{secrets.token_hex(12)}",
            created=int(self._clock.now() * 1_000_000),
            context=turn.rewriting.context,
            items=_encode(tuple(items)).decode(),
        )
        rows = [
            CallRow(
                call_id=f"call_{secrets.token_hex(12)}",
                step_id=step.step_id,
                position=place,
                name=turn.names.get(item.call.name, item.call.name),
                arguments=item.call.raw,
            )
            for place, item in enumerate(calls)
        ]
        await self._tables.add_step(turn.tenant, turn.session, step, rows)


class OfferBody(Struct, frozen=True, kw_only=True):
    """An offer in Gemini's form, and what its tools are called elsewhere than in it."""

    tools: list[JsonValue]
    tool_config: JsonObject | None
    names: Mapping[str, str]


def offer_body(offer: Offer, model: str) -> OfferBody:
    """Without tools of the server: who owns the session carries its calls out."""
    tools = tuple(tool for tool in offer.tools if not (isinstance(tool, NativeTool) and is_ours(tool)))
    request = ModelRequest(model=model, tools=tools, tool_choice=offer.tool_choice, extras=offer.extras)
    encoded = gemini.encode_request(request, profile=gemini.profile_for(model))
    declared, config = encoded.body.get("tools"), encoded.body.get("toolConfig")
    return OfferBody(
        tools=declared if isinstance(declared, list) else [],
        tool_config=config if isinstance(config, dict) else None,
        names=encoded.names,
    )


def with_own_steps(items: tuple[Item, ...], steps: Sequence[tuple[Item, ...]]) -> tuple[Item, ...]:
    """The items with these steps as the model made them, for one that wants back more than Gemini's form can carry."""
    left = list(steps)
    made: list[Item] = []
    place = 0
    while place < len(items):
        end = place + 1
        while is_models(items[place]) and end < len(items) and is_models(items[end]):
            end += 1
        span = items[place:end]
        asked = _call_ids(span)
        is_step = bool(asked and left) and asked == _call_ids(left[0])
        made.extend(left.pop(0) if is_step else span)
        place = end
    return tuple(made)


def _call_ids(items: Sequence[Item]) -> list[str]:
    return [item.call.call_id for item in items if type(item) is CallItem]


def known_steps(
    steps: Sequence[StepRow],
    calls: Mapping[str, Sequence[CallRow]],
    taken: Container[str],
    tools: tuple[DeclaredTool, ...],
    model: str,
) -> tuple[KnownStep, ...]:
    """The steps as Gemini reads them. The tools give their calls the names that they have there, and are written once."""
    cache = ToolCache()
    return tuple([_known(step, calls[step.step_id], taken, tools, model, cache) for step in steps])


def _known(
    step: StepRow,
    calls: Sequence[CallRow],
    taken: Container[str],
    tools: tuple[DeclaredTool, ...],
    model: str,
    cache: ToolCache,
) -> KnownStep:
    request = ModelRequest(model=model, items=(say("user", "?"), *_decode(step.items)), tools=tools)
    contents: Any = gemini.encode_request(request, profile=gemini.profile_for(model), cache=cache).body["contents"]
    asked = contents[1]
    wanted = [part["functionCall"] for part in asked["parts"] if "functionCall" in part]
    responses: list[JsonValue] = []
    for function, call in zip(wanted, calls, strict=True):
        named = {name: function[name] for name in ("id", "name") if name in function}
        responses.append({"functionResponse": {**named, "response": msgspec.json.decode(call.result)}})
    return KnownStep(
        step_id=step.step_id,
        context=step.context,
        contents=(asked, {"role": "user", "parts": responses}),
        is_pending=any(call.call_id in taken for call in calls),
        is_open=bool(step.is_open),
    )
