"""The calls of a run as the store has them. Only reads."""

from groundwire.contracts.ports import Store
from groundwire.contracts.records import CallRecord

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
