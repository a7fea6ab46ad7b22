"""Reports to a client which approvals the calls of its request wait for.

In a header, in a member `groundwire` of the response body, and as a comment within a stream of events.
"""

from collections.abc import Mapping

from msgspec import Struct, to_builtins
from msgspec.structs import replace

from groundwire.contracts.ports import Store
from groundwire.contracts.records import CallRecord, ConfirmationStatus
from groundwire.contracts.replies import Reply
from groundwire.contracts.requests import Dialect
from groundwire.contracts.results import ConfirmationNotice, decode_result
from groundwire.runtime.clock import to_iso

MEMBER = "groundwire"
"""The member of a response body for what no dialect has a member for."""


class PendingApproval(Struct, frozen=True, kw_only=True, rename="camel"):
    """`text` says what will be done; `call_id` is the call of this request that waits."""

    id: str
    tool: str
    call_id: str
    text: str
    expires_at: str


def approvals_in(calls: list[CallRecord]) -> dict[str, str]:
    """Find approvals that the stored calls of a run requested: ids of approvals with those of their calls."""
    notices = [(decode_result(call.result).meta.confirmation, call.call_id) for call in calls]
    return {notice.id: call_id for notice, call_id in notices if isinstance(notice, ConfirmationNotice)}


async def pending_approvals(store: Store, tenant: str, requested: Mapping[str, str]) -> tuple[PendingApproval, ...]:
    """Return those of the requested approvals (id → call id) that no later call of the same request has used."""
    found = []
    for approval_id, call_id in requested.items():
        row = await store.get_confirmation(tenant, approval_id)
        if row is not None and row.status is not ConfirmationStatus.SPENT:
            expires_at = to_iso(row.expires_at)
            found.append(
                PendingApproval(
                    id=approval_id, tool=row.tool, call_id=call_id, text=row.question, expires_at=expires_at
                )
            )
    return tuple(found)


def encode_header(approvals: tuple[PendingApproval, ...]) -> str:
    """The value of the header: ids, separated by commas."""
    return ", ".join(approval.id for approval in approvals)


def with_approvals(reply: Reply, dialect: Dialect, approvals: tuple[PendingApproval, ...]) -> Reply:
    """The reply with a member for the approvals, in the place where the dialect keeps unknown members."""
    if not approvals:
        return reply
    own = {**reply.extras.get(dialect, {}), MEMBER: {"approvals": to_builtins(approvals)}}
    return replace(reply, extras={**reply.extras, dialect: own})
