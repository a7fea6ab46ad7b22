"""What the store keeps: sessions, calls, effects, confirmations and the audit chain.

Times are seconds since the epoch, except in audit records, whose form is fixed (snake_case, ISO 8601).
"""

from enum import StrEnum
from typing import Literal, TypeAlias

from msgspec import Struct, field

from groundwire.contracts.canonical import JsonObject, JsonValue
from groundwire.contracts.results import Evidence
from groundwire.contracts.runs import Appending

GENESIS = "0" * 64
"""What the first audit record names as its predecessor."""


class Session(Struct, frozen=True, kw_only=True):
    """One conversation. `version` counts its changes, so that two writers cannot overwrite each other unseen."""

    tenant: str
    session_id: str
    status: Literal["active", "ended"] = "active"
    mode: str = "text"
    registry_version: str = ""
    state: JsonObject = field(default_factory=dict)
    turns: int = 0
    calls: int = 0
    peak_tokens: int = 0
    loop_history: tuple[JsonObject, ...] = ()
    created_at: float = 0.0
    updated_at: float = 0.0
    ended_at: float | None = None
    version: int = 0


class CallRecord(Struct, frozen=True, kw_only=True, gc=False):
    """A closed call: what was asked, what came back, and what it cost. Exactly one per call id."""

    tenant: str
    session_id: str
    call_id: str
    turn: int
    run_id: str
    tool: str
    origin: str
    caller: str
    raw: str
    input_digest: str
    result: bytes
    ok: bool
    error_type: str
    step: str
    executed: bool
    duration_ms: float
    chars: int
    tokens: int
    effect_id: str = ""
    parent_call_id: str = ""
    variant: str = ""
    created_at: float = 0.0


class EffectStatus(StrEnum):
    RESERVED = "reserved"
    SETTLED = "settled"
    UNKNOWN = "unknown"


class Effect(Struct, frozen=True, kw_only=True, gc=False):
    """One key of the ledger, unique per tenant and tool. `attempt` names the reservation that may settle it."""

    effect_id: str
    tenant: str
    tool: str
    key: str
    input_digest: str
    status: EffectStatus = EffectStatus.RESERVED
    owner: str = ""
    attempt: str = ""
    lease_until: float = 0.0
    session_id: str = ""
    call_id: str = ""
    raw: str = ""
    result: bytes | None = None
    note: str = ""
    decided_by: str = ""
    created_at: float = 0.0
    updated_at: float = 0.0


class Charge(Struct, frozen=True, kw_only=True, gc=False):
    """An amount to count on a stored counter; refused when the count would pass `max`."""

    name: str
    scope: str
    amount: float = 1.0
    max: float | None = None


class Reservation(Struct, frozen=True, kw_only=True, gc=False):
    """Everything that must be taken together, or not at all, before a handler may start."""

    tenant: str
    effect: Effect | None = None
    takeover: bool = False
    confirmation_id: str = ""
    charges: tuple[Charge, ...] = ()
    appending: Appending | None = None
    """What the run did before: written first, also if the rest is refused."""
    now: float = 0.0


class Reserved(Struct, frozen=True, kw_only=True):
    """The reservation holds."""


class Taken(Struct, frozen=True, kw_only=True):
    """The key exists. A reservation whose lease ran out has become unknown."""

    effect: Effect


class OverBudget(Struct, frozen=True, kw_only=True):
    name: str
    used: float
    max: float


class NotApproved(Struct, frozen=True, kw_only=True):
    """The approval was spent, withdrawn or expired in the meantime."""


class Overtaken(Struct, frozen=True, kw_only=True):
    """Somebody else has appended to the run; nothing was written or taken."""


ReserveOutcome: TypeAlias = Reserved | Taken | OverBudget | NotApproved | Overtaken


class Transition(Struct, frozen=True, kw_only=True, gc=False):
    """What becomes of a reservation when its call ends: settled, unknown, or (None) released."""

    tenant: str
    tool: str
    key: str
    attempt: str
    status: EffectStatus | None
    result: bytes | None = None
    note: str = ""
    now: float = 0.0


class AuditEntry(Struct, frozen=True, kw_only=True, gc=False):
    """What the chain says about one call, before it has its place in the chain.

    The fields are in alphabetical order, in which its hash covers them.
    """

    actor: str = ""
    approver: str = ""
    call_id: str = ""
    caller: str = ""
    created_at: str
    decision: str = ""
    duration_ms: float
    effect_key: str = ""
    error: str | None = None
    evidence: tuple[Evidence, ...] = ()
    id: str
    input_hash: str
    intents: tuple[str, ...] = ()
    kind: str = "call"
    output_hash: str
    parent_call_id: str = ""
    reason: str = ""
    registry_version: str = ""
    request_id: str
    run_id: str = ""
    session_id: str = ""
    success: bool
    tenant: str
    tool_name: str
    variant: str = ""


class AuditRecord(Struct, frozen=True, kw_only=True, gc=False):
    """An entry in its place: numbered, and tied to the one before."""

    seq: int
    previous_hash: str
    hash: str
    entry: AuditEntry


class UnreadableRecord(Struct, frozen=True, kw_only=True):
    """A stored audit row that no longer has the form of a record."""

    seq: int
    record_id: str
    reason: str


class AuditHead(Struct, frozen=True, kw_only=True, gc=False):
    """The newest record's number and hash."""

    seq: int = 0
    hash: str = GENESIS


class Closing(Struct, frozen=True, kw_only=True, gc=False):
    """The end of one call: its row, its audit entry and the fate of its reservation, written in one transaction."""

    call: CallRecord | None
    entry: AuditEntry
    transition: Transition | None = None
    charges: tuple[Charge, ...] = ()


class ConfirmationStatus(StrEnum):
    PENDING = "pending"
    APPROVED = "approved"
    DENIED = "denied"
    SPENT = "spent"


class Confirmation(Struct, frozen=True, kw_only=True):
    """An approval: requested by a call, decided by a person. Expiry is checked when it is read.

    It is valid for the calls that share its `binding` (see `Turn.approval_binding`), tool and argument digest.
    """

    confirmation_id: str
    tenant: str
    binding: str
    session_id: str = ""
    run_id: str = ""
    key_id: str = ""
    """The API key that made the call, or started the run that made it; empty for Python callers and the CLI."""
    tool: str
    category: str = ""
    input_digest: str
    question: str
    """What will be done, in a sentence built by code (see `policies.approval_texts`)."""
    arguments: JsonValue
    argument_schema: JsonObject = field(default_factory=dict)
    """The JSON Schema of `arguments` when the approval was requested, `supplied` ones included."""
    evidence: tuple[Evidence, ...] = ()
    """Where grounded arguments were found in the conversation."""
    status: ConfirmationStatus = ConfirmationStatus.PENDING
    call_id: str = ""
    created_at: float = 0.0
    expires_at: float = 0.0
    decided_at: float | None = None
    decided_by: str = ""
    note: str = ""
    edited: bool = False
    """Whether the person changed the arguments; `arguments` are then theirs."""
    supplied: tuple[str, ...] = ()
    """Names of arguments that the runtime fills in. An edit keeps their values."""


class Agreement(Struct, frozen=True, kw_only=True):
    """Arguments that a person approved in place of the requested ones, and the sentence that describes them."""

    arguments: JsonValue
    input_digest: str
    question: str


class ToolSample(Struct, frozen=True, kw_only=True):
    """One response as the statistics see it."""

    chars: int
    tokens: int
    duration_ms: float


class SessionTotals(Struct, frozen=True, kw_only=True):
    """All sessions of a tenant together. Tracked turns are those whose loop history is still kept."""

    total: int = 0
    active: int = 0
    turns: int = 0
    turns_tracked: int = 0
    calls: int = 0
    peak_tokens: int = 0
