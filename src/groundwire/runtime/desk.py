"""The desk: what people decide. Calls agreed to, effects settled, keys, old records let go; all of it audited."""

import logging

import msgspec

from groundwire.contracts.audit import KEY_KIND, RETENTION_KIND
from groundwire.contracts.canonical import JsonObject, digest, digest_bytes
from groundwire.contracts.errors import AlreadyDecided, ConfigError, NotFound, SelfApproval
from groundwire.contracts.keys import ApiKey
from groundwire.contracts.ports import Clock, Ids, Store
from groundwire.contracts.records import (
    Agreement,
    AuditEntry,
    Closing,
    Confirmation,
    ConfirmationStatus,
    Effect,
    EffectStatus,
    Transition,
)
from groundwire.contracts.results import Meta, ToolResult, encode_result
from groundwire.contracts.texts import NAME_CHARS
from groundwire.contracts.tools import ToolSpec, wire_name
from groundwire.registry import Registry
from groundwire.runtime.clock import to_iso
from groundwire.runtime.idempotency import compared_arguments
from groundwire.runtime.policies.confirmation import describe_call
from groundwire.runtime.policies.self_approval import ApprovalSettings, may_approve
from groundwire.runtime.sessions import check_text

log = logging.getLogger("groundwire")


class Desk:
    def __init__(
        self, registry: Registry, *, store: Store, clock: Clock, ids: Ids, approvals: ApprovalSettings
    ) -> None:
        self._registry = registry
        self._store = store
        self._clock = clock
        self._ids = ids
        self._approvals = approvals

    async def questions(
        self, tenant: str, status: ConfirmationStatus | None, before: str, limit: int
    ) -> list[Confirmation]:
        if status is not ConfirmationStatus.PENDING:
            return await self._store.list_confirmations(tenant, status=status, before=before, limit=limit)
        now = self._clock.now()
        waiting: list[Confirmation] = []
        while True:
            found = await self._store.list_confirmations(tenant, status=status, before=before, limit=limit)
            waiting += [item for item in found if item.expires_at > now]
            if len(found) < limit or len(waiting) >= limit:
                return waiting[:limit]
            before = found[-1].confirmation_id

    async def decide(
        self,
        tenant: str,
        confirmation_id: str,
        status: ConfirmationStatus,
        *,
        by: str,
        note: str,
        arguments: JsonObject | None = None,
        key_id: str = "",
    ) -> Confirmation:
        """Approve or deny. `key_id` is the API key of the decision, if it was made with one.

        Raises NotFound, AlreadyDecided, or SelfApproval.
        """
        check_person(by, note)
        question = await self._store.get_confirmation(tenant, confirmation_id)
        if question is None:
            raise NotFound(f"there is no approval {confirmation_id!r}", hint="groundwire approvals list")
        entry = msgspec.structs.replace(
            self._entry("approval", tenant=tenant, by=by, subject=question.input_digest, tool=question.tool),
            actor=key_id or by,
            session_id=question.session_id,
            run_id=question.run_id,
            call_id=question.call_id,
            decision=status.value,
            reason=note,
        )
        if status is ConfirmationStatus.APPROVED:
            await self._check_approver(question, key_id, entry)
        now = self._clock.now()
        instead = self._changed(question, arguments) if arguments is not None else None
        if instead is not None:
            entry = msgspec.structs.replace(entry, output_hash=instead.input_digest)
        if await self._store.decide_confirmation(
            tenant, confirmation_id, status, by=by, note=note, now=now, entry=entry, instead=instead
        ):
            decided = msgspec.structs.replace(question, status=status, decided_by=by, note=note, decided_at=now)
            if instead is None:
                return decided
            return msgspec.structs.replace(
                decided,
                arguments=instead.arguments,
                input_digest=instead.input_digest,
                question=instead.question,
                edited=True,
            )
        # Read again: what was read above may be older than the decision that was faster.
        raise _approval_decided(await self._store.get_confirmation(tenant, confirmation_id) or question)

    async def _check_approver(self, approval: Confirmation, key_id: str, entry: AuditEntry) -> None:
        """Raise SelfApproval, with a record in the audit chain, if the call is that key's own and settings forbid it.

        A key may deny its own call: that only withdraws the request.
        """
        if may_approve(self._approvals, tool_id=approval.tool, requested_by=approval.key_id, decided_by=key_id):
            return
        refused = msgspec.structs.replace(
            entry, approver="", decision="refused", success=False, error=SelfApproval.code, output_hash=digest(None)
        )
        await self._store.close(Closing(call=None, entry=refused))
        log.warning("Refused: key %s tried to approve its own call (%s).", key_id, approval.confirmation_id)
        raise SelfApproval(
            "The key that made a call cannot approve it.",
            subject="approval",
            hint="Decide with another key that has the scope decide, or allow it with selfApproval of [approvals].",
        )

    async def reconcile(
        self, tenant: str, effect_id: str, result: ToolResult | None, *, by: str, note: str, key_id: str = ""
    ) -> None:
        """With a result, the effect happened; without, it did not and its key is free again."""
        check_person(by, note)
        effect = await self._store.get_effect(tenant, effect_id)
        if effect is None:
            raise NotFound(f"there is no effect {effect_id!r}", hint="groundwire effects list")
        closing = self._decision(effect, result, by=by, note=note, key_id=key_id)
        if not await self._store.decide_effect(tenant, effect_id, closing, by=by):
            raise _effect_decided(effect_id, await self._store.get_effect(tenant, effect_id))

    async def create_key(self, key: ApiKey, *, by: str) -> None:
        check_person(by, "")
        if len(key.name) > NAME_CHARS or not key.name.isprintable():  # decisions are recorded under it
            raise ConfigError(f"A key's name has at most {NAME_CHARS} printable characters, not {key.name[:40]!r}.")
        await self._store.create_key(key, entry=self._key_entry(key, "created", by))

    async def revoke_key(self, key: ApiKey, *, by: str) -> bool:
        """False where somebody has done so before."""
        check_person(by, "")
        entry = self._key_entry(key, "revoked", by)
        return await self._store.revoke_key(key.tenant, key.key_id, now=self._clock.now(), entry=entry)

    def _key_entry(self, key: ApiKey, decision: str, by: str) -> AuditEntry:
        """The key by its id, and by a hash of what it allows. Nothing of its secret, nor of the secret's digest."""
        terms = msgspec.to_builtins(msgspec.structs.replace(key, digest="", prefix="", revoked_at=None))
        entry = self._entry(KEY_KIND, tenant=key.tenant, by=by, subject=digest(terms))
        return msgspec.structs.replace(entry, decision=decision, reason=key.key_id)

    async def prune(self, older_than_seconds: float, *, by: str) -> int:
        check_person(by, "")
        cut = to_iso(self._clock.now() - older_than_seconds)
        entry = self._entry(RETENTION_KIND, tenant="default", by=by, subject=digest_bytes(cut.encode()))
        return await self._store.prune_audit(created_before=cut, entry=entry)

    def _changed(self, approval: Confirmation, arguments: JsonObject) -> Agreement | None:
        """What is approved instead, or None if it equals the request. Supplied arguments keep their values."""
        requested = approval.arguments if isinstance(approval.arguments, dict) else {}
        wanted = compared_arguments(approval.supplied, arguments, requested)
        input_digest = digest(wanted)
        if input_digest == approval.input_digest:
            return None
        tool = self._registry.find(approval.tool)
        spec = ToolSpec(tool_id=approval.tool, wire_name=wire_name(approval.tool)) if tool is None else tool.spec
        return Agreement(arguments=wanted, input_digest=input_digest, question=describe_call(spec, wanted))

    def _decision(self, effect: Effect, result: ToolResult | None, *, by: str, note: str, key_id: str) -> Closing:
        if result is not None:
            meta = Meta(call_id=effect.call_id, registry_version=self._registry.version, tool=effect.tool)
            result = msgspec.structs.replace(result, meta=meta)
        entry = msgspec.structs.replace(
            self._entry("reconcile", tenant=effect.tenant, by=by, subject=effect.input_digest, tool=effect.tool),
            actor=key_id or by,
            output_hash=digest(result.data if result is not None else None),
            decision="happened" if result is not None else "did not happen",
            reason=note,
            effect_key=effect.key,
            session_id=effect.session_id,
            call_id=effect.call_id,
        )
        transition = Transition(
            tenant=effect.tenant,
            tool=effect.tool,
            key=effect.key,
            attempt=effect.attempt,
            status=EffectStatus.SETTLED if result is not None else None,
            result=encode_result(result) if result is not None else None,
            note=note,
            now=self._clock.now(),
        )
        return Closing(call=None, entry=entry, transition=transition)

    def _entry(self, kind: str, *, tenant: str, by: str, subject: str, tool: str = "") -> AuditEntry:
        entry = decision_entry(
            kind,
            entry_id=self._ids.new("aud"),
            tenant=tenant,
            by=by,
            subject=subject,
            registry_version=self._registry.version,
            now=self._clock.now(),
        )
        return msgspec.structs.replace(entry, tool_name=tool) if tool else entry


def decision_entry(
    kind: str, *, entry_id: str, tenant: str, by: str, subject: str, registry_version: str, now: float
) -> AuditEntry:
    """The audit entry of something that a person decided about `subject`, a digest."""
    return AuditEntry(
        id=entry_id,
        tenant=tenant,
        request_id="",
        tool_name="",
        input_hash=subject,
        output_hash=subject,
        success=True,
        duration_ms=0.0,
        created_at=to_iso(now),
        kind=kind,
        actor=by,
        approver=by,
        registry_version=registry_version,
    )


def _approval_decided(approval: Confirmation) -> AlreadyDecided:
    name = f"Approval {approval.confirmation_id!r}"
    match approval.status:
        case ConfirmationStatus.PENDING:
            return AlreadyDecided(f"{name} has expired.", hint="Repeat the call to request a new approval.")
        case ConfirmationStatus.DENIED:
            done = "denied"
        case ConfirmationStatus.SPENT:
            done = "approved and used"
        case _:
            done = "approved"
    return AlreadyDecided(f"{name} was already {done} by {approval.decided_by}.", decided_by=approval.decided_by)


def _effect_decided(effect_id: str, effect: Effect | None) -> AlreadyDecided:
    name = f"Effect {effect_id!r}"
    if effect is None:  # its row is deleted when a person decides that it did not happen
        return AlreadyDecided(f"{name} was already resolved as not happened; its key is free.")
    if effect.decided_by:
        return AlreadyDecided(f"{name} was already resolved by {effect.decided_by}.", decided_by=effect.decided_by)
    return AlreadyDecided(f"{name} is {effect.status.value}; only unknown effects can be resolved.")


def check_person(by: str, note: str) -> None:
    check_text("by", by)
    check_text("note", note)
    if not by:
        raise ConfigError("`by` is required: who made this decision?", hint="the name or id of the person")
