"""The record of a call: its envelope, its row and its audit entry, made together so that they cannot disagree."""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING

import msgspec
from msgspec import UNSET, Struct
from msgspec.structs import replace

from groundwire.contracts.canonical import JsonObject, canonical_json, digest_bytes, parse_json
from groundwire.contracts.decisions import Deny
from groundwire.contracts.records import AuditEntry, CallRecord, Charge, Closing, Transition
from groundwire.contracts.redaction import redact
from groundwire.contracts.results import ConfirmationNotice, ErrorInfo, Meta, ToolResult, encode_result
from groundwire.runtime.clock import to_iso

if TYPE_CHECKING:
    from groundwire.contracts.ports import Ids, TokenEstimator
    from groundwire.runtime.attempt import Attempt


DEFERRED = "deferred"
"""The decision about a call whose second half is a job's."""

TOO_LARGE_KEPT = 1_000
"""Of arguments that were refused for their size, only this much is kept beside their hash."""


class Ending(Struct, eq=False):
    """How a call ended, before it is written down. `is_same_call` marks a call id that was closed before.

    The caller gets the result, and may change what is inside before the records are written. So they are made from
    `body`, the JSON of the data, which nobody can change; or `encoded`, the JSON of it all, made before anybody had it.
    """

    attempt: Attempt
    result: ToolResult
    decision: str
    body: bytes = b"null"
    encoded: bytes = b""
    transition: Transition | None = None
    charges: tuple[Charge, ...] = ()
    effect_id: str = ""
    is_same_call: bool = False

    @property
    def is_unusual(self) -> bool:
        """Whether there is more to say of it than of most calls."""
        attempt, result = self.attempt, self.result
        return bool(
            not result.ok
            or result.intents
            or attempt.parent is not None
            or attempt.confirmation is not None
            or attempt.evidence
            or attempt.variant
            or not (attempt.turn.request_id or attempt.turn.run_id)
        )

    def envelope(self) -> bytes:
        """The envelope as it was when the call ended."""
        if self.encoded:
            return self.encoded
        return encode_result(replace(self.result, data=msgspec.Raw(self.body)))

    def output_hash(self) -> str:
        error = self.result.error
        if error is None:
            is_text = type(self.result.data) is str
            return sha256(self.body if is_text else canonical_json(parse_json(self.body))).hexdigest()
        return digest_bytes(canonical_json(msgspec.to_builtins(error)))


def meta_of(
    attempt: Attempt,
    duration_ms: float,
    *,
    replayed: bool = False,
    notice: ConfirmationNotice | None = None,
    details: JsonObject | None = None,
) -> Meta:
    meta = replace(
        attempt.turn.form(attempt.tool_id, attempt.caller).meta,
        call_id=attempt.call_id,
        duration_ms=duration_ms,
        replayed=replayed,
    )
    said = notice or details or attempt.evidence or attempt.variant or attempt.spilled or attempt.job_id
    if attempt.parent is None and not said:
        return meta
    return replace(
        meta,
        parent_call_id=attempt.parent.call_id if attempt.parent is not None else UNSET,
        confirmation=notice or UNSET,
        evidence=attempt.evidence or UNSET,
        variant=attempt.variant or UNSET,
        spilled=attempt.spilled or UNSET,
        job=attempt.job_id or UNSET,
        details=details or UNSET,
    )


def refusal(attempt: Attempt, deny: Deny, duration_ms: float, notice: ConfirmationNotice | None = None) -> ToolResult:
    """A refused call's envelope: never with side effects. Its messages may quote names and arguments, but no keys."""
    if deny.faults:
        errors = tuple(
            ErrorInfo(
                type=deny.type,
                message=redact(deny.message if index == 0 else f"{fault.path}: {fault.message}"),
                retryable=deny.retryable,
                detail=fault.detail,
            )
            for index, fault in enumerate(deny.faults)
        )
    else:
        message = redact(deny.message)
        errors = (ErrorInfo(type=deny.type, message=message, retryable=deny.retryable, detail=deny.detail),)
    meta = meta_of(attempt, duration_ms, notice=notice)
    if deny.faults:
        meta = replace(meta, error_paths=tuple(fault.pointer for fault in deny.faults))
    return ToolResult(ok=False, errors=errors, warnings=attempt.warnings, meta=meta)


def replayed(attempt: Attempt, stored: ToolResult, duration_ms: float) -> ToolResult:
    """The stored result, under this call's id. Its intents were applied the first time."""
    meta = replace(
        stored.meta,
        call_id=attempt.call_id,
        duration_ms=duration_ms,
        replayed=True,
        session_id=attempt.turn.session_id or UNSET,
    )
    return replace(stored, meta=meta, intents=())


def input_hash(attempt: Attempt) -> str:
    """Of the arguments; of their raw text when they could not be read."""
    return attempt.digest or digest_bytes(attempt.raw.encode("utf-8", "surrogatepass"))


def closing_of(ending: Ending, ids: Ids, estimator: TokenEstimator) -> Closing:
    """Everything that must be written about the end of a call."""
    attempt = ending.attempt
    form = attempt.turn.form(attempt.tool_id, attempt.caller)
    duration_ms, input_digest = ending.result.meta.duration_ms, input_hash(attempt)
    call = None
    if not ending.is_same_call:
        text = ending.body.decode()
        call = replace(
            form.call,
            call_id=attempt.call_id,
            origin=attempt.call.origin,
            raw=attempt.raw if attempt.step != "size" else attempt.raw[:TOO_LARGE_KEPT],
            input_digest=input_digest,
            result=ending.envelope(),
            step=attempt.step,
            executed=ending.decision == "executed",
            duration_ms=duration_ms,
            chars=len(text),
            tokens=estimator.estimate(text),
            effect_id=ending.effect_id,
            created_at=attempt.started_at,
        )
    entry = replace(
        form.entry,
        id=ids.new("aud"),
        call_id=attempt.call_id,
        input_hash=input_digest,
        output_hash=ending.output_hash(),
        duration_ms=duration_ms,
        created_at=to_iso(attempt.started_at),
        decision=ending.decision,
        reason=f"{attempt.step}: {attempt.operator}" if attempt.operator else attempt.step,
        effect_key=attempt.key,
    )
    if ending.is_unusual:
        call, entry = _unusual(ending, call, entry)
    return Closing(call=call, entry=entry, transition=ending.transition, charges=ending.charges)


def _unusual(ending: Ending, call: CallRecord | None, entry: AuditEntry) -> tuple[CallRecord | None, AuditEntry]:
    """The same with what most calls have not: a failure, a parent, a variant, evidence, wishes, somebody's agreement."""
    attempt, result = ending.attempt, ending.result
    error, confirmation = result.error, attempt.confirmation
    parent_call_id = attempt.parent.call_id if attempt.parent is not None else ""
    is_agreed = confirmation is not None and ending.decision in {"executed", DEFERRED}
    if call is not None:
        call = replace(
            call,
            ok=result.ok,
            error_type=error.type.value if error is not None else "",
            parent_call_id=parent_call_id,
            variant=attempt.variant,
        )
    return call, replace(
        entry,
        request_id=entry.request_id or attempt.call_id,
        success=result.ok,
        error=_error_text(error) if error is not None else None,
        parent_call_id=parent_call_id,
        variant=attempt.variant,
        evidence=attempt.evidence,
        intents=tuple(intent.type for intent in result.intents),
        approver=confirmation.decided_by if confirmation is not None and is_agreed else "",
    )


def _error_text(error: ErrorInfo) -> str:
    code = f"{error.type.value}/{error.detail}" if error.detail else error.type.value
    return f"{code}: {error.message}"
