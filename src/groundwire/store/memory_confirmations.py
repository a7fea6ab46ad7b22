"""The questions to people of the memory store, and their answers."""

import msgspec

from groundwire.contracts.records import Agreement, AuditEntry, Confirmation, ConfirmationStatus
from groundwire.store.memory_records import MemoryRecords
from groundwire.store.memory_runs import MemoryRuns
from groundwire.store.memory_tables import bound, page
from groundwire.store.rules import is_approved, is_open


class MemoryConfirmations:
    _records: MemoryRecords
    _runs: MemoryRuns

    def __init__(self, max_rows: int) -> None:
        self._max_confirmations = max_rows
        self._confirmations: dict[str, Confirmation] = {}
        self._questions: dict[tuple[str, str, str, str], str] = {}

    async def find_confirmation(
        self, tenant: str, binding: str, tool: str, input_digest: str, *, now: float
    ) -> Confirmation | None:
        # The same question is not asked twice while it is open, so only the newest can be.
        found = self._confirmations.get(self._questions.get((tenant, binding, tool, input_digest), ""))
        return found if found is not None and is_open(found, now) else None

    async def create_confirmation(self, confirmation: Confirmation) -> Confirmation:
        question = (confirmation.tenant, confirmation.binding, confirmation.tool, confirmation.input_digest)
        found = await self.find_confirmation(*question, now=confirmation.created_at)
        if found is not None:
            return found
        self._confirmations[confirmation.confirmation_id] = confirmation
        self._questions.pop(question, None)
        self._questions[question] = confirmation.confirmation_id
        bound(self._confirmations, self._max_confirmations)
        bound(self._questions, self._max_confirmations)
        return confirmation

    async def get_confirmation(self, tenant: str, confirmation_id: str) -> Confirmation | None:
        found = self._confirmations.get(confirmation_id)
        return found if found is not None and found.tenant == tenant else None

    async def decide_confirmation(
        self,
        tenant: str,
        confirmation_id: str,
        status: ConfirmationStatus,
        *,
        by: str,
        note: str,
        now: float,
        entry: AuditEntry | None = None,
        instead: Agreement | None = None,
    ) -> bool:
        found = await self.get_confirmation(tenant, confirmation_id)
        if found is None or found.status != ConfirmationStatus.PENDING or found.expires_at <= now:
            return False
        decided = msgspec.structs.replace(found, status=status, decided_at=now, decided_by=by, note=note)
        if instead is not None:
            decided = msgspec.structs.replace(
                decided,
                arguments=instead.arguments,
                input_digest=instead.input_digest,
                question=instead.question,
                edited=True,
            )
            binding = (tenant, found.binding, found.tool)
            self._questions.pop((*binding, found.input_digest), None)  # nobody agreed to the original arguments
            self._questions[*binding, instead.input_digest] = confirmation_id
        self._confirmations[confirmation_id] = decided
        self._runs.wake(tenant, confirmation_id, now)
        if entry is not None:
            self._records.chain.append(entry)
        return True

    async def list_confirmations(
        self, tenant: str, *, status: ConfirmationStatus | None = None, before: str = "", limit: int = 50
    ) -> list[Confirmation]:
        rows = (found for found in reversed(self._confirmations.values()) if found.tenant == tenant)
        return page(
            rows, lambda found: (found.confirmation_id,), before, limit, lambda found: status in {None, found.status}
        )

    def _decided_at(self, tenant: str, confirmation_id: str, now: float) -> float:
        """When a run that waits for an approval is due: when it expires, or `now` if it is decided or does not exist."""
        found = self._confirmations.get(confirmation_id)
        is_pending = found is not None and found.tenant == tenant and found.status is ConfirmationStatus.PENDING
        return found.expires_at if found is not None and is_pending else now

    def _approval(self, tenant: str, confirmation_id: str, now: float) -> Confirmation | None:
        """What somebody agreed to and nobody has made use of yet."""
        found = self._confirmations.get(confirmation_id)
        return found if found is not None and found.tenant == tenant and is_approved(found, now) else None

    def _spend(self, approval: Confirmation) -> None:
        spent = msgspec.structs.replace(approval, status=ConfirmationStatus.SPENT)
        self._confirmations[approval.confirmation_id] = spent
