"""The calls of a run as the store has them. Only reads."""

from collections.abc import Iterable

from groundwire.contracts.ports import Store
from groundwire.contracts.records import CallRecord
from groundwire.runtime.arguments import kept_id
from groundwire.runtime.turns import Turn

_PAGE = 500


async def calls_of_run(store: Store, tenant: str, conversation_id: str, run_id: str) -> list[CallRecord]:
    """All of them, those that its tools made too, in the order in which they ended."""
    found: list[CallRecord] = []
    while True:
        before = found[-1].call_id if found else ""
        page = await store.list_calls(tenant, session_id=conversation_id, run_id=run_id, before=before, limit=_PAGE)
        found += page
        if len(page) < _PAGE:
            return found[::-1]


async def taken_ids(store: Store, turn: Turn, call_ids: Iterable[str]) -> frozenset[str]:
    """Which of these ids other runs of the session have used: providers number calls anew, the record cannot."""
    taken: set[str] = set()
    for call_id in call_ids if turn.session is not None else ():
        record = await store.find_call(turn.tenant, turn.conversation_id, kept_id(call_id))
        if record is not None and record.run_id != turn.run_id:
            taken.add(call_id)
    return frozenset(taken)
