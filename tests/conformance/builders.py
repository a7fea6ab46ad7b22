"""Records to store, complete but for what a test cares about."""

from typing import Any

from groundwire.contracts.audit import Chain, ChainReport, ChainVerifier
from groundwire.contracts.keys import ApiKey, KeySpend
from groundwire.contracts.ports import Store
from groundwire.contracts.records import (
    AuditEntry,
    AuditHead,
    CallRecord,
    Closing,
    Confirmation,
    Effect,
    EffectStatus,
    Reservation,
    Session,
    Transition,
)
from groundwire.contracts.runs import Run, RunEntry

DIGEST = "ab" * 32


def session(name: str = "ses_1", **fields: Any) -> Session:
    return Session(**{"tenant": "acme", "session_id": name, **fields})


def effect(key: str = "key_1", **fields: Any) -> Effect:
    name = fields.pop("name", key)
    return Effect(
        **{
            "effect_id": f"eff_{name}",
            "tenant": "acme",
            "tool": "create_order",
            "key": key,
            "input_digest": DIGEST,
            "owner": "worker_1",
            "attempt": f"att_{name}",
            "lease_until": 100.0,
            "session_id": "ses_1",
            "call_id": f"call_{name}",
            "raw": '{"sku":"A-1"}',
            "created_at": 1.0,
            "updated_at": 1.0,
            **fields,
        }
    )


def reservation(key: str = "key_1", *, now: float = 1.0, takeover: bool = False, **fields: Any) -> Reservation:
    kept = {name: fields.pop(name) for name in ("charges", "confirmation_id", "appending") if name in fields}
    return Reservation(tenant="acme", effect=effect(key, **fields), takeover=takeover, now=now, **kept)


def entry(name: str = "1", **fields: Any) -> AuditEntry:
    return AuditEntry(
        **{
            "id": f"aud_{name}",
            "tenant": "acme",
            "request_id": f"req_{name}",
            "tool_name": "create_order",
            "input_hash": DIGEST,
            "output_hash": "cd" * 32,
            "success": True,
            "duration_ms": 1.5,
            "created_at": "2026-03-01T10:00:00.000Z",
            "session_id": "ses_1",
            "call_id": f"call_{name}",
            **fields,
        }
    )


def call(name: str = "1", **fields: Any) -> CallRecord:
    return CallRecord(
        **{
            "tenant": "acme",
            "session_id": "ses_1",
            "call_id": f"call_{name}",
            "turn": 1,
            "run_id": "run_1",
            "tool": "create_order",
            "origin": "model",
            "caller": "model",
            "raw": '{"sku":"A-1"}',
            "input_digest": DIGEST,
            "result": b'{"ok":true}',
            "ok": True,
            "error_type": "",
            "step": "invoke",
            "executed": True,
            "duration_ms": 1.5,
            "chars": 11,
            "tokens": 3,
            "created_at": 1.0,
            **fields,
        }
    )


def closing(name: str = "1", *, transition: Transition | None = None, charges: Any = (), **fields: Any) -> Closing:
    return Closing(call=call(name, **fields), entry=entry(name), transition=transition, charges=charges)


def ending(
    held: Effect, status: EffectStatus | None = EffectStatus.SETTLED, *, now: float = 2.0, **fields: Any
) -> Transition:
    result = b'{"ok":true}' if status is EffectStatus.SETTLED else None
    return Transition(
        **{
            "tenant": held.tenant,
            "tool": held.tool,
            "key": held.key,
            "attempt": held.attempt,
            "status": status,
            "result": result,
            "now": now,
            **fields,
        }
    )


def confirmation(name: str = "1", **fields: Any) -> Confirmation:
    return Confirmation(
        **{
            "confirmation_id": f"con_{name}",
            "tenant": "acme",
            "binding": "session::ses_1",
            "session_id": "ses_1",
            "tool": "create_order",
            "input_digest": DIGEST,
            "question": "Order one A-1?",
            "arguments": {"sku": "A-1", "count": 12345678901234567890},
            "call_id": f"call_{name}",
            "created_at": 1.0,
            "expires_at": 301.0,
            **fields,
        }
    )


def run(name: str = "run_1", **fields: Any) -> Run:
    return Run(**{"tenant": "acme", "run_id": name, "session_id": "ses_1", "created_at": 1.0, **fields})


def run_entries(first: int, *bodies: bytes) -> list[RunEntry]:
    return [RunEntry(seq=seq, body=body, created_at=float(seq)) for seq, body in enumerate(bodies, first)]


def api_key(label: str = "1", **fields: Any) -> ApiKey:
    return ApiKey(
        **{
            "key_id": f"key_{label}",
            "tenant": "acme",
            "name": f"key {label}",
            "digest": f"digest_{label}",
            "prefix": f"gw_{label}",
            "scopes": ("models", "tools"),
            "created_at": 1.0,
            **fields,
        }
    )


def request_of(key: ApiKey, now: float) -> KeySpend:
    return KeySpend(key_id=key.key_id, limits=key.limits, must_fit=True, requests=1, now=now)


def answer_of(key: ApiKey, now: float, *, tokens: int = 0, money: float = 0.0) -> KeySpend:
    return KeySpend(key_id=key.key_id, limits=key.limits, must_fit=False, tokens=tokens, money=money, now=now)


async def verify(store: Store, *, checkpoints: tuple[AuditHead, ...] = (), chain: Chain | None = None) -> ChainReport:
    verifier = ChainVerifier(chain or Chain(), checkpoints=checkpoints)
    async for record in store.audit_records():
        verifier.feed(record)
    return verifier.finish()
