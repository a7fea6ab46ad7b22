"""The record of a call: its envelope, its row and its audit entry, made together so that they cannot disagree."""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING

import msgspec
from msgspec import UNSET

from groundwire.contracts.canonical import JsonObject, canonical_json, digest_bytes, parse_json
from groundwire.contracts.decisions import Deny
from groundwire.contracts.records import AuditEntry, CallRecord, Charge, Closing, Transition
from groundwire.contracts.results import ConfirmationNotice, ErrorInfo, Meta, ToolResult, encode_result
from groundwire.runtime.clock import to_iso

if TYPE_CHECKING:
    from groundwire.contracts.ports import Ids, TokenEstimator
    from groundwire.runtime.attempt import Attempt


TOO_LARGE_KEPT = 1_000
"""Of arguments that were refused for their size, only this much is kept beside their hash."""


class Ending:
    """How a call ended, before it is written down. `is_same_call` marks a call id that was closed before.

    The caller gets the result, and may change what is inside before the records are written. So they are made from
    `body`, the JSON of the data, which nobody can change.
    """

    encoded = b""
    transition: Transition | None = None
    charges: tuple[Charge, ...] = ()
    is_same_call: bool = False

    def __init__(self, attempt: Attempt, result: ToolResult, decision: str, body: bytes) -> None:
        self.attempt = attempt
        self.result = result
        self.decision = decision
        self.body = body
        if result.intents or result.meta.details is not UNSET:
            self.encoded = self.envelope()

    def envelope(self) -> bytes:
        """The envelope as it was when the call ended."""
        return self.encoded or encode_result(msgspec.structs.replace(self.result, data=msgspec.Raw(self.body)))

    def output_hash(self) -> str:
        error = self.result.error
        if error is None:
            # Where a reservation ends, the record is made before anybody has the result.
            data = self.result.data if self.transition is not None else parse_json(self.body)
            return sha256(self.body if type(data) is str else canonical_json(data)).hexdigest()
        return digest_bytes(canonical_json(msgspec.to_builtins(error)))


def meta_of(
    attempt: Attempt,
    duration_ms: float,
    *,
    replayed: bool = False,
    notice: ConfirmationNotice | None = None,
    details: JsonObject | None = None,
) -> Meta:
    turn = attempt.turn
    return Meta(
        call_id=attempt.call_id,
        duration_ms=duration_ms,
        registry_version=turn.surface.registry.version,
        replayed=replayed,
        tool=attempt.tool_id,
        session_id=turn.session_id or UNSET,
        parent_call_id=attempt.parent.call_id if attempt.parent is not None else UNSET,
        confirmation=notice or UNSET,
        evidence=attempt.evidence or UNSET,
        variant=attempt.variant or UNSET,
        spilled=attempt.spilled or UNSET,
        details=details or UNSET,
    )


def refusal(attempt: Attempt, deny: Deny, duration_ms: float, notice: ConfirmationNotice | None = None) -> ToolResult:
    """A refused call's envelope: never with side effects."""
    if deny.faults:
        errors = tuple(
            ErrorInfo(
                type=deny.type,
                message=deny.message if index == 0 else f"{fault.path}: {fault.message}",
                retryable=deny.retryable,
                detail=fault.detail,
            )
            for index, fault in enumerate(deny.faults)
        )
    else:
        errors = (ErrorInfo(type=deny.type, message=deny.message, retryable=deny.retryable, detail=deny.detail),)
    meta = meta_of(attempt, duration_ms, notice=notice)
    if deny.faults:
        meta = msgspec.structs.replace(meta, error_paths=tuple(fault.pointer for fault in deny.faults))
    return ToolResult(ok=False, errors=errors, warnings=attempt.warnings, meta=meta)


def replayed(attempt: Attempt, stored: ToolResult, duration_ms: float) -> ToolResult:
    """The stored result, under this call's id. Its intents were applied the first time."""
    meta = msgspec.structs.replace(
        stored.meta,
        call_id=attempt.call_id,
        duration_ms=duration_ms,
        replayed=True,
        session_id=attempt.turn.session_id or UNSET,
    )
    return msgspec.structs.replace(stored, meta=meta, intents=())


def input_hash(attempt: Attempt) -> str:
    """Of the arguments; of their raw text when they could not be read."""
    return attempt.digest or digest_bytes(attempt.raw.encode("utf-8", "surrogatepass"))


def closing_of(ending: Ending, *, ids: Ids, estimator: TokenEstimator) -> Closing:
    """Everything that must be written about an ended call."""
    attempt, result, decision = ending.attempt, ending.result, ending.decision
    turn, error, confirmation = attempt.turn, result.error, attempt.confirmation
    tenant, run_id, call_id, tool_id = turn.tenant, turn.run_id, attempt.call_id, attempt.tool_id
    input_digest, duration_ms, is_executed = input_hash(attempt), result.meta.duration_ms, decision == "executed"
    parent_call_id = attempt.parent.call_id if attempt.parent is not None else ""
    call = None
    if not ending.is_same_call:
        text = ending.body.decode()
        call = CallRecord(
            tenant=tenant,
            session_id=turn.conversation_id,
            call_id=call_id,
            turn=turn.number,
            run_id=run_id,
            tool=tool_id,
            origin=attempt.call.origin,
            caller=attempt.caller,
            raw=attempt.raw if attempt.step != "size" else attempt.raw[:TOO_LARGE_KEPT],
            input_digest=input_digest,
            result=ending.envelope(),
            ok=result.ok,
            error_type=error.type.value if error is not None else "",
            step=attempt.step,
            executed=is_executed,
            duration_ms=duration_ms,
            chars=len(text),
            tokens=estimator.estimate(text),
            effect_id=attempt.effect.effect_id if attempt.effect is not None else "",
            parent_call_id=parent_call_id,
            variant=attempt.variant,
            created_at=attempt.started_at,
        )
    entry = AuditEntry(
        id=ids.new("aud"),
        tenant=tenant,
        request_id=turn.request_id or run_id or call_id,
        tool_name=tool_id,
        input_hash=input_digest,
        output_hash=ending.output_hash(),
        success=result.ok,
        duration_ms=duration_ms,
        created_at=to_iso(attempt.started_at),
        error=_error_text(error) if error is not None else None,
        session_id=turn.session_id,
        call_id=call_id,
        parent_call_id=parent_call_id,
        run_id=run_id,
        caller=attempt.caller,
        actor=turn.actor,
        decision=decision,
        reason=f"{attempt.step}: {attempt.operator}" if attempt.operator else attempt.step,
        evidence=attempt.evidence,
        intents=tuple(intent.type for intent in result.intents) if result.intents else (),
        approver=confirmation.decided_by if confirmation is not None and is_executed else "",
        effect_key=attempt.key,
        variant=attempt.variant,
        registry_version=result.meta.registry_version,
    )
    return Closing(call=call, entry=entry, transition=ending.transition, charges=ending.charges)


def _error_text(error: ErrorInfo) -> str:
    code = f"{error.type.value}/{error.detail}" if error.detail else error.type.value
    return f"{code}: {error.message}"
