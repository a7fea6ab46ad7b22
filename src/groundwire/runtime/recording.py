"""The record of a call: its envelope, its row and its audit entry, made together so that they cannot disagree."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from msgspec import UNSET

from groundwire.contracts.canonical import canonical_json, digest_bytes
from groundwire.contracts.decisions import Deny
from groundwire.contracts.records import AuditEntry, CallRecord, Charge, Closing, EffectStatus, Transition
from groundwire.contracts.results import ConfirmationNotice, ErrorInfo, Meta, ToolResult, encode_result
from groundwire.runtime.clock import to_iso

if TYPE_CHECKING:
    from groundwire.contracts.ports import Ids, TokenEstimator
    from groundwire.runtime.attempt import Attempt


class Ending:
    """How a call ended, before it is written down."""

    __slots__ = ("body", "decision", "duration_ms", "encoded", "result", "transition")

    def __init__(
        self, result: ToolResult, *, decision: str, body: bytes = b"", transition: Transition | None = None
    ) -> None:
        self.result = result
        self.encoded = encode_result(result)
        self.decision = decision
        self.body = body
        self.duration_ms = result.meta.duration_ms
        self.transition = (
            msgspec.structs.replace(transition, result=self.encoded)
            if transition is not None and transition.status is EffectStatus.SETTLED
            else transition
        )


def meta_of(attempt: Attempt, duration_ms: float, **more: object) -> Meta:
    turn = attempt.turn
    return Meta(
        call_id=attempt.call_id,
        duration_ms=duration_ms,
        registry_version=turn.surface.registry.version,
        tool=attempt.tool_id,
        session_id=turn.session_id or UNSET,
        parent_call_id=attempt.parent.call_id if attempt.parent is not None else UNSET,
        evidence=attempt.evidence or UNSET,
        variant=attempt.variant or UNSET,
        **more,  # type: ignore[arg-type]
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
    meta = meta_of(attempt, duration_ms, confirmation=notice if notice is not None else UNSET)
    return ToolResult(ok=False, errors=errors, warnings=tuple(attempt.warnings), meta=meta)


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


def close(
    attempt: Attempt, ending: Ending, *, ids: Ids, estimator: TokenEstimator, charges: tuple[Charge, ...]
) -> Closing:
    """Everything that must be written about an ended call."""
    result, turn = ending.result, attempt.turn
    error = result.error
    text = ending.body.decode()
    executed = ending.decision == "executed"
    call = CallRecord(
        tenant=turn.tenant,
        session_id=turn.session_id,
        call_id=attempt.call_id,
        turn=turn.number,
        run_id=turn.run_id,
        tool=attempt.tool_id,
        origin=attempt.origin,
        caller=attempt.caller,
        raw=attempt.raw,
        input_digest=input_hash(attempt),
        result=ending.encoded,
        ok=result.ok,
        error_type=error.type.value if error is not None else "",
        step=attempt.step,
        executed=executed,
        duration_ms=ending.duration_ms,
        chars=len(text),
        tokens=estimator.estimate(text),
        effect_id=attempt.effect.effect_id if attempt.effect is not None else "",
        parent_call_id=attempt.parent.call_id if attempt.parent is not None else "",
        variant=attempt.variant,
        created_at=attempt.started_at,
    )
    return Closing(call=call, entry=_entry(attempt, ending, ids, call), transition=ending.transition, charges=charges)


def input_hash(attempt: Attempt) -> str:
    """Of the arguments; of their raw text when they could not be read."""
    return attempt.digest or digest_bytes(attempt.raw.encode("utf-8", "surrogatepass"))


def _entry(attempt: Attempt, ending: Ending, ids: Ids, call: CallRecord) -> AuditEntry:
    result, turn = ending.result, attempt.turn
    error = result.error
    output = canonical_json(result.data) if result.ok else canonical_json(msgspec.to_builtins(error))
    confirmation = attempt.confirmation
    return AuditEntry(
        id=ids.new("aud"),
        tenant=turn.tenant,
        request_id=turn.request_id or turn.run_id or attempt.call_id,
        tool_name=attempt.tool_id,
        input_hash=call.input_digest,
        output_hash=digest_bytes(output),
        success=result.ok,
        duration_ms=ending.duration_ms,
        created_at=to_iso(attempt.started_at),
        error=_error_text(error) if error is not None else None,
        session_id=turn.session_id,
        call_id=attempt.call_id,
        parent_call_id=call.parent_call_id,
        run_id=turn.run_id,
        caller=attempt.caller,
        actor=turn.actor,
        decision=ending.decision,
        reason=f"{attempt.step}: {attempt.operator}" if attempt.operator else attempt.step,
        evidence=attempt.evidence,
        intents=tuple(intent.type for intent in result.intents),
        approver=confirmation.decided_by if confirmation is not None and ending.decision == "executed" else "",
        effect_key=attempt.key,
        variant=attempt.variant,
        registry_version=turn.surface.registry.version,
    )


def _error_text(error: ErrorInfo) -> str:
    code = f"{error.type.value}/{error.detail}" if error.detail else error.type.value
    return f"{code}: {error.message}"
