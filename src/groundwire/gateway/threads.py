"""Conversations that the gateway keeps: what was said, which tools were on offer, and how to go on from there.

A thread is a named conversation, or one that began with a response and goes on by its id. Where somebody goes on from
an earlier response, the thread branches. Everything is in the store, so any process can serve any turn.
"""

import secrets
from collections import defaultdict, deque

import msgspec
from msgspec import Struct, field

from groundwire.codecs.wire.json import dump
from groundwire.contracts.errors import StoreError
from groundwire.contracts.failures import Failure, FailureKind
from groundwire.contracts.messages import CallItem, Item, Private, ResultItem
from groundwire.contracts.requests import DeclaredTool, ToolChoice
from groundwire.gateway.failing import Refused
from groundwire.gateway.tables import Tables, TurnRow

_NAMED = "conversation:"


class Offer(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What the model may call in a conversation. `extras`: what else the dialect that declared it says about it."""

    tools: tuple[DeclaredTool, ...] = ()
    tool_choice: ToolChoice | None = None
    extras: Private = field(default_factory=dict)


_NOTHING = Offer()


class Turn(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """`items` is what came in and what was answered; `given` counts the former. Nobody says anything in some turns:
    they only change what is on offer."""

    items: tuple[Item, ...] = ()
    given: int = 0
    offer: Offer = _NOTHING


_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(Turn).decode


class Thread(Struct, frozen=True, kw_only=True):
    """Where a new turn goes, and what went before. The offer is kept for named conversations only."""

    name: str
    position: int = 0
    parent_thread: str = ""
    parent_position: int = -1
    items: tuple[Item, ...] = ()
    offer: Offer = _NOTHING
    is_named: bool = False


class Threads:
    """Of at most `max_turns` each: the model is sent all of them every time."""

    def __init__(self, tables: Tables, max_turns: int) -> None:
        self._tables = tables
        self._max_turns = max_turns

    async def conversation(self, tenant: str, name: str) -> Thread:
        """The named conversation; an empty one where nobody used the name before."""
        thread = f"{_NAMED}{name}"
        rows = await self._turns(tenant, thread)
        if not rows:
            return Thread(name=thread, is_named=True)
        turns = [_read(row) for row in rows]
        return Thread(
            name=thread,
            position=rows[-1].position + 1,
            items=tuple(item for turn in turns for item in turn.items),
            offer=turns[-1].offer,
            is_named=True,
        )

    async def offer(self, tenant: str, name: str) -> Offer:
        """What is on offer in the named conversation."""
        row = await self._tables.last_turn(tenant, f"{_NAMED}{name}")
        return _NOTHING if row is None else _read(row).offer

    async def set_offer(self, tenant: str, name: str, offer: Offer, created: int) -> None:
        row = await self._tables.last_turn(tenant, f"{_NAMED}{name}")
        position = 0 if row is None else row.position + 1
        await self.make_offer(tenant, Thread(name=f"{_NAMED}{name}", position=position, is_named=True), offer, created)

    async def make_offer(self, tenant: str, thread: Thread, offer: Offer, created: int) -> None:
        """Change what is on offer in a named conversation, before anybody says more."""
        await self.keep(tenant, thread, f"offer_{secrets.token_hex(24)}", created, Turn(offer=offer), "")

    async def after(self, tenant: str, response_id: str) -> Thread:
        """What goes on from a response; Refused where there is none of that id."""
        found = await self._tables.response(tenant, response_id)
        if found is None or not found.response:
            message = f"Previous response with id '{response_id}' not found."
            raise Refused(
                Failure(
                    kind=FailureKind.INVALID_REQUEST,
                    message=message,
                    status=400,
                    code="previous_response_not_found",
                    param="previous_response_id",
                )
            )
        rows = await self._turns(tenant, found.thread, found.position)
        items = tuple(item for row in rows for item in _read(row).items)
        return Thread(
            name=found.thread, position=found.position + 1, items=items, is_named=found.thread.startswith(_NAMED)
        )

    async def _turns(self, tenant: str, thread: str, *until: int) -> list[TurnRow]:
        """What went before, with room for one more turn; Refused where there is none."""
        rows = await self._tables.turns(tenant, thread, *until, most=self._max_turns - 1)
        if rows is None:
            message = (
                f"This conversation has reached its {self._max_turns} turns. Begin another one, with a summary of what"
                " matters; or let the operator raise maxTurns of [server]."
            )
            raise Refused(
                Failure(
                    kind=FailureKind.INVALID_REQUEST,
                    message=message,
                    status=400,
                    code="conversation_too_long",
                    param="conversation" if thread.startswith(_NAMED) else "previous_response_id",
                )
            )
        return rows

    async def response(self, tenant: str, response_id: str) -> bytes | None:
        """What was answered under that id."""
        found = await self._tables.response(tenant, response_id)
        return found.response.encode() if found is not None and found.response else None

    async def complete(
        self, tenant: str, response_id: str, pending: bytes, completed: bytes, items: tuple[Item, ...]
    ) -> bool:
        """Replace a pending response, and add the answer to its turn. False if it is not pending any more."""
        found = await self._tables.response(tenant, response_id)
        if found is None or found.response.encode() != pending:
            return False
        turn = _read(found)
        turn = msgspec.structs.replace(turn, items=(*turn.items[: turn.given], *items))
        return await self._tables.complete_response(
            tenant, response_id, found.response, completed.decode(), _encode(turn).decode()
        )

    async def forget(self, tenant: str, response_id: str) -> bytes | None:
        """Delete it, and say so; None where there is nothing to delete."""
        if not await self._tables.forget_response(tenant, response_id):
            return None
        return dump({"id": response_id, "object": "response", "deleted": True})

    async def keep(
        self, tenant: str, thread: Thread, response_id: str, created: int, turn: Turn, response: str
    ) -> None:
        """Add a turn. Where somebody else went on meanwhile, a named conversation has both and any other branches."""
        row = TurnRow(
            thread=thread.name or response_id,
            position=thread.position,
            response_id=response_id,
            created=created,
            turn=_encode(turn).decode(),
            response=response,
        )
        while not await self._tables.add_turn(tenant, row):
            if thread.is_named:
                row = msgspec.structs.replace(row, position=row.position + 1)
            elif row.thread == response_id:
                raise StoreError(f"There is a response {response_id!r} already.")
            else:
                row = msgspec.structs.replace(
                    row, thread=response_id, position=0, parent_thread=thread.name, parent_position=thread.position - 1
                )


def with_known_results(items: tuple[Item, ...], earlier: tuple[Item, ...]) -> tuple[Item, ...]:
    """The items, each result with the id of the call that it answers; Refused where no such call was made.

    Results may come without an id of their own, or with one that nobody knows; then the first call of the same name
    that still waits is meant.
    """
    if not any(type(item) is ResultItem for item in items):
        return items
    known = {item.call.call_id for item in (*earlier, *items) if type(item) is CallItem}
    answered = {item.call_id for item in earlier if type(item) is ResultItem}
    waiting: defaultdict[str, deque[str]] = defaultdict(deque)
    for item in earlier:
        if type(item) is CallItem:
            waiting[item.call.name].append(item.call.call_id)
    made: list[Item] = []
    for item in items:
        if type(item) is ResultItem:
            if item.call_id not in known:
                found = waiting[item.name]
                while found and found[0] in answered:
                    found.popleft()
                if not item.name or not found:
                    raise _unasked(item)
                item = msgspec.structs.replace(item, call_id=found[0])  # noqa: PLW2901 - the same result
            answered.add(item.call_id)
        made.append(item)
    return tuple(made)


def _unasked(item: ResultItem) -> Refused:
    message = f"No tool call found for function call output with call_id {item.call_id}."
    if item.name:
        message = f"No call of {item.name} waits for the result with the id {item.call_id}."
    return Refused(Failure(kind=FailureKind.INVALID_REQUEST, message=message, status=400, param="input"))


def _read(row: TurnRow) -> Turn:
    try:
        return _decode(row.turn)
    except msgspec.MsgspecError as error:
        raise StoreError(f"The turn of {row.response_id!r} cannot be read: {error}") from None
