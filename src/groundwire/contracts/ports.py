"""What the runtime needs from the world, as protocols. It never names who implements them."""

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import AbstractContextManager
from typing import Protocol

from groundwire.contracts.calls import ToolCall
from groundwire.contracts.failures import Failure
from groundwire.contracts.keys import ApiKey, KeySpend, OverLimit
from groundwire.contracts.records import (
    Agreement,
    AuditEntry,
    AuditHead,
    AuditRecord,
    CallRecord,
    Charge,
    Closing,
    Confirmation,
    ConfirmationStatus,
    Effect,
    EffectStatus,
    Reservation,
    ReserveOutcome,
    Session,
    SessionTotals,
    ToolSample,
    UnreadableRecord,
)
from groundwire.contracts.replies import Reply, ReplyPart
from groundwire.contracts.requests import ModelRequest, SendOptions
from groundwire.contracts.results import ToolResult
from groundwire.contracts.runs import Ended, Run, RunEntry
from groundwire.contracts.tools import ToolSpec
from groundwire.contracts.trust import Asked, Trusted


class Clock(Protocol):
    """Time as an argument, so that tests own it."""

    def now(self) -> float:
        """Seconds since the epoch."""
        ...

    def monotonic(self) -> float: ...

    async def sleep(self, seconds: float) -> None: ...


class Ids(Protocol):
    """Names for new things; never two alike."""

    def new(self, prefix: str) -> str: ...


class Provider(Protocol):
    """Asks a model. Fails with ProviderError; cancelling the caller's task ends the request."""

    async def complete(self, request: ModelRequest, options: SendOptions = ...) -> Reply: ...

    def stream(self, request: ModelRequest, options: SendOptions = ...) -> AsyncGenerator[ReplyPart]:
        """The same in pieces. Ends with a ReplyEnded, or raises; nothing is asked again once a piece was given.

        Whoever does not want the rest closes it, and the request ends there.
        """
        ...

    async def close(self) -> None: ...


class Flags(Protocol):
    """Feature flags, read at each call."""

    def is_on(self, flag: str) -> bool: ...


class Grant(Protocol):
    """How far those who may answer in one run are trusted. Two grants that may differ are never the same object."""

    def judge(self, spec: ToolSpec) -> Trusted: ...


class TrustPolicy(Protocol):
    def grant(self, asked: Asked, *, now: float) -> Grant: ...

    @property
    def relaxes(self) -> bool:
        """Whether a run that must call tools goes on without having to, where its model is not reliable."""
        ...


class TokenEstimator(Protocol):
    def estimate(self, text: str) -> int: ...


class Telemetry(Protocol):
    """Watches from outside. The work is done inside the context, and what came of it is told to what the context gives."""

    def watch_run(self, run: Run, agent: str, provider: str) -> AbstractContextManager[Callable[[Ended], None]]: ...

    def watch_request(
        self, request: ModelRequest, provider: str, conversation: str
    ) -> AbstractContextManager[Callable[[Reply | Failure], None]]: ...

    def watch_call(
        self, call: ToolCall, conversation: str
    ) -> AbstractContextManager[Callable[[ToolResult, bool], None]]:
        """The second value: the call waits for a person, and the result is none."""
        ...


class Checkpoints(Protocol):
    """Where heads of the audit chain are noted outside the store."""

    def append(self, head: AuditHead) -> None: ...

    def read(self) -> Sequence[AuditHead]: ...


class Database(Protocol):
    """An application's own tables, beside ours. Placeholders are `$1`, `$2` … on every store."""

    async def migrate(self, app: str, scripts: Sequence[tuple[str, str]]) -> None:
        """Apply the (name, SQL) scripts that `app` has not applied yet, in order, each once."""
        ...

    async def execute(self, sql: str, *values: object) -> int:
        """Run one statement; the number of rows it changed."""
        ...

    async def fetch(self, sql: str, *values: object) -> list[dict[str, object]]: ...

    async def transact(self, statements: Sequence[tuple[str, Sequence[object]]]) -> None:
        """Run several statements, all or none."""
        ...


class SessionStore(Protocol):
    async def load_session(self, tenant: str, session_id: str) -> Session | None: ...

    async def create_session(self, session: Session) -> Session:
        """Store a new session; if another process was first, theirs is the answer."""
        ...

    async def save_session(self, session: Session) -> bool:
        """Store `session` if the stored version is still `session.version`; the stored version then counts on."""
        ...

    async def list_sessions(self, tenant: str, *, before: str = "", limit: int = 50) -> list[Session]: ...

    async def session_totals(self, tenant: str) -> SessionTotals: ...

    async def save_artifact(self, version: str, body: bytes) -> None: ...

    async def load_artifact(self, version: str) -> bytes | None: ...


class EffectLedger(Protocol):
    async def reserve(self, reservation: Reservation) -> ReserveOutcome:
        """Take effect, approval and charges together, or nothing.

        An existing key gives Taken, first turning a reservation whose lease ran out into an unknown one. With
        `takeover`, an unknown key is reserved anew for this attempt (never a settled one, never one in flight).
        With `appending`, entries of a run are appended before that in the same transaction; where that fails
        as `append_run` would, the outcome is Overtaken.
        """
        ...

    async def find_effect(self, tenant: str, tool: str, key: str, *, now: float) -> Effect | None:
        """The effect of that key; a reservation whose lease ran out comes back as unknown."""
        ...

    async def close(self, closing: Closing) -> bool:
        """Write the end of a call in one transaction; durable on return.

        False when the transition no longer applied, because the reservation was taken over or decided by somebody
        else; the call's row and audit entry are written all the same.
        """
        ...

    async def renew_leases(
        self, owner: str, keys: Sequence[tuple[str, str, str]], *, now: float, lease_until: float
    ) -> int:
        """Move on the leases of these (tenant, tool, key) that `owner` still holds; how many those are."""
        ...

    async def get_effect(self, tenant: str, effect_id: str) -> Effect | None: ...

    async def decide_effect(self, tenant: str, effect_id: str, closing: Closing, *, by: str) -> bool:
        """A person's (or hook's) decision about an unknown effect, audited; False when it is unknown no longer."""
        ...

    async def list_effects(
        self,
        tenant: str,
        *,
        status: EffectStatus | None = None,
        before: str = "",
        limit: int = 50,
        now: float | None = None,
    ) -> list[Effect]:
        """Newest first. With `now`, reservations whose lease ran out become unknown before they are listed."""
        ...

    async def forget_effects(self, *, settled_before: float) -> int: ...


class CallStore(Protocol):
    def enqueue(self, closing: Closing) -> None:
        """Take the end of a call that has no reservation. Durable after the next `close` or `flush`."""
        ...

    async def flush(self) -> AuditHead:
        """Return when everything taken so far is durable."""
        ...

    async def find_call(self, tenant: str, session_id: str, call_id: str) -> CallRecord | None: ...

    async def list_calls(
        self,
        tenant: str,
        *,
        session_id: str | None = None,
        turn: int | None = None,
        run_id: str | None = None,
        before: str = "",
        limit: int = 50,
    ) -> list[CallRecord]: ...

    async def tools_called(self, tenant: str) -> list[str]: ...

    async def tool_samples(self, tenant: str, tool: str, *, limit: int = 1000) -> list[ToolSample]:
        """The newest responses of a tool that was really executed, of all processes."""
        ...

    async def read_counters(self, tenant: str, names: Sequence[tuple[str, str]]) -> list[float]:
        """The counts of (name, scope) pairs, in their order; 0 where there is none."""
        ...

    async def list_counters(self, tenant: str, name: str) -> dict[str, float]: ...

    async def add(self, tenant: str, charges: Sequence[Charge]) -> None: ...

    async def save_blob(self, tenant: str, session_id: str, ref: str, body: bytes, *, now: float) -> None: ...

    async def load_blob(self, tenant: str, session_id: str, ref: str) -> bytes | None: ...


class ConfirmationStore(Protocol):
    async def find_confirmation(
        self, tenant: str, binding: str, tool: str, input_digest: str, *, now: float
    ) -> Confirmation | None:
        """The newest unexpired and unspent approval of that binding."""
        ...

    async def create_confirmation(self, confirmation: Confirmation) -> Confirmation:
        """Ask; if the same question is already open, that one is the answer."""
        ...

    async def get_confirmation(self, tenant: str, confirmation_id: str) -> Confirmation | None: ...

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
        """Approve or deny, if it is still open and not expired; `entry` is audited together with it.

        With `instead`, the question from then on is about those arguments. Runs that wait for it are due from now on.
        """
        ...

    async def list_confirmations(
        self, tenant: str, *, status: ConfirmationStatus | None = None, before: str = "", limit: int = 50
    ) -> list[Confirmation]: ...


class AuditStore(Protocol):
    def audit_records(self, *, after: int = 0) -> AsyncIterator[AuditRecord | UnreadableRecord]:
        """All records by number, read in portions, so that a long chain fits in memory."""
        ...

    async def list_audit(self, tenant: str, *, before: int = 0, limit: int = 50) -> list[AuditRecord]: ...

    async def audit_head(self) -> AuditHead: ...

    async def prune_audit(self, *, created_before: str, entry: AuditEntry) -> int:
        """Remove the records older than that, and append `entry` with what went as its reason; how many went.

        The reason is JSON: {"removed_to": number, "hash": that record's hash, "count": how many}. The newest record
        always stays.
        """
        ...


class RunStore(Protocol):
    """Runs are append-only: an append names the number of entries and the owner, and fails if either has changed."""

    async def create_run(self, run: Run, entries: Sequence[RunEntry]) -> None:
        """Store a new run with its first entries, durably; a StoreError if there is one of that id."""
        ...

    async def append_run(self, run: Run, entries: Sequence[RunEntry], *, waiting: Sequence[str] = ()) -> bool:
        """Append in one durable transaction, and replace the head; `run.entries` is their number before.

        Returns False, and writes nothing, if the stored number or owner differs, or the run does not exist. Entries must
        continue from that number, else it is a StoreError. A run's session and its creation time stay what they were.
        A head with an outcome clears the owner; if it waits for the approvals `waiting`, the run becomes due when the
        first of them is decided or expires, also if that has happened already. What is appended has happened: a caller
        that is cancelled meanwhile continues only when it is written.
        """
        ...

    async def swap_lease(self, seen: Run, wanted: Run) -> bool:
        """Replace owner, due_at, resumes and cancel_requested, if all four are still those of `seen`; durable."""
        ...

    async def due_runs(self, *, now: float, limit: int = 100) -> list[Run]:
        """Runs of all tenants that any process may take now, the longest due first."""
        ...

    async def runs_to_cancel(self, owners: Sequence[str]) -> list[str]:
        """Return which of these owners hold a run whose cancellation was requested."""
        ...

    async def load_run(self, tenant: str, run_id: str) -> Run | None: ...

    async def run_entries(self, tenant: str, run_id: str) -> list[RunEntry]: ...

    async def session_entries(self, tenant: str, session_id: str) -> dict[str, list[RunEntry]]:
        """The entries of all runs of a session, as they are at one moment: by run, in the order in which those began."""
        ...

    async def list_runs(
        self, tenant: str, *, session_id: str | None = None, before: str = "", limit: int = 50
    ) -> list[Run]:
        """Newest first."""
        ...


class KeyStore(Protocol):
    """Keys to a server, and what was used of their limits. Counts hold for everybody who uses the key, anywhere."""

    async def create_key(self, key: ApiKey, *, entry: AuditEntry | None = None) -> None:
        """Store a new key, durably and with its audit entry; a StoreError if there is one of that id or digest."""
        ...

    async def find_key(self, digest: str) -> ApiKey | None:
        """The key with that digest, revoked ones too."""
        ...

    async def list_keys(self, tenant: str, *, before: str = "", limit: int = 50) -> list[ApiKey]:
        """Newest first."""
        ...

    async def revoke_key(self, tenant: str, key_id: str, *, now: float, entry: AuditEntry | None = None) -> bool:
        """Take a key back, durably and with its audit entry; False when there is none or somebody has done so before."""
        ...

    async def keys_version(self) -> int:
        """How often keys were changed, by anybody: what was read of them under this number still holds.

        0 only while there has never been a key. Cheap enough to be asked at each request.
        """
        ...

    async def spend(self, spend: KeySpend) -> OverLimit | None:
        """Count on all limits of the key in one step, or refuse and count nothing."""
        ...

    async def key_usage(self, key: ApiKey, *, now: float) -> list[float]:
        """What is used of each limit in its current window, in their order."""
        ...


class Store(SessionStore, EffectLedger, CallStore, ConfirmationStore, AuditStore, RunStore, KeyStore, Protocol):
    """One place for all state. Every process that opens the same store sees the same."""

    @property
    def database(self) -> Database: ...

    async def open(self) -> None:
        """Connect and bring the tables up to date. Safe to call again, and from several processes at once."""
        ...

    async def shut(self) -> None: ...
