"""Decisions of people: approvals of calls, and effects with an unknown outcome.

A decision is recorded under the name of the key with which it was made; a request cannot name another person.
"""

from typing import ClassVar, Literal

from msgspec import UNSET, Struct, UnsetType

from groundwire.contracts.canonical import JsonObject, JsonValue
from groundwire.contracts.errors import NotFound, WireError
from groundwire.contracts.records import Confirmation, ConfirmationStatus, EffectStatus
from groundwire.contracts.texts import storable
from groundwire.gateway.api import schemas
from groundwire.gateway.api.resources import Resource
from groundwire.gateway.api.schemas import Note
from groundwire.gateway.api.visibility import show_effect
from groundwire.runtime.runtime import Runtime
from groundwire.runtime.showing import show_approval
from groundwire.serving.endpoints import Asked, Endpoint
from groundwire.serving.paging import Before, Limit, cursor_of, page, wanted_id

_REFUSED = {"by": "is not accepted: a decision is recorded under the name of the key that it is made with"}


class ApprovalsQuery(Struct, frozen=True, kw_only=True):
    limit: Limit = 50
    before: Before = ""
    status: Literal["pending", "approved", "denied", "spent", "all"] = "pending"


class EffectsQuery(Struct, frozen=True, kw_only=True):
    limit: Limit = 50
    before: Before = ""
    status: Literal["reserved", "settled", "unknown", "all"] = "all"


class Agreed(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """With `arguments`, the call is approved with these in place of its own."""

    refused: ClassVar = _REFUSED
    note: Note = ""
    arguments: dict[str, JsonValue] | None = None


class Denied(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    refused: ClassVar = _REFUSED
    note: Note = ""


class Reconciled(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`result` is the call's data from now on, and belongs to what happened."""

    refused: ClassVar = _REFUSED
    happened: bool
    note: Note = ""
    result: JsonValue | UnsetType = UNSET


class Decisions:
    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime

    async def list_approvals(self, asked: Asked) -> JsonObject:
        query: ApprovalsQuery = asked.query
        status = None if query.status == "all" else ConfirmationStatus(query.status)
        before = cursor_of(query.before)
        return await page(
            query.limit,
            lambda limit: self._runtime.approvals(status=status, tenant=asked.tenant, before=before, limit=limit),
            self._show,
            lambda question: question.confirmation_id,
        )

    async def show_approval(self, asked: Asked) -> JsonObject:
        confirmation_id = wanted_id(asked.place("approvalId"), "approval")
        found = await self._runtime.store.get_confirmation(asked.tenant, confirmation_id)
        if found is None:
            raise NotFound(f"there is no approval {confirmation_id!r}")
        return self._show(found)

    async def approve(self, asked: Asked) -> JsonObject:
        body: Agreed = asked.body
        decided = await self._runtime.approve(
            wanted_id(asked.place("approvalId"), "approval"),
            by=asked.caller.name,
            note=storable(body.note),
            arguments=body.arguments,
            tenant=asked.tenant,
            key_id=asked.caller.key_id,
        )
        return self._show(decided)

    async def deny(self, asked: Asked) -> JsonObject:
        body: Denied = asked.body
        decided = await self._runtime.deny(
            wanted_id(asked.place("approvalId"), "approval"),
            by=asked.caller.name,
            note=storable(body.note),
            tenant=asked.tenant,
            key_id=asked.caller.key_id,
        )
        return self._show(decided)

    async def list_effects(self, asked: Asked) -> JsonObject:
        query: EffectsQuery = asked.query
        status = None if query.status == "all" else EffectStatus(query.status)
        before = cursor_of(query.before)
        return await page(
            query.limit,
            lambda limit: self._runtime.effects(status=status, tenant=asked.tenant, before=before, limit=limit),
            lambda effect: show_effect(effect, asked.caller),
            lambda effect: effect.effect_id,
        )

    async def show_effect(self, asked: Asked) -> JsonObject:
        effect_id = wanted_id(asked.place("effectId"), "effect")
        found = await self._runtime.store.get_effect(asked.tenant, effect_id)
        if found is None:
            raise NotFound(f"there is no effect {effect_id!r}")
        return show_effect(found, asked.caller)

    async def reconcile(self, asked: Asked) -> JsonObject:
        body: Reconciled = asked.body
        if not body.happened and body.result is not UNSET:
            raise WireError("belongs to what happened; what did not has no result", path="result")
        effect_id = wanted_id(asked.place("effectId"), "effect")
        await self._runtime.reconcile(
            effect_id,
            happened=body.happened,
            by=asked.caller.name,
            data=None if body.result is UNSET else body.result,
            note=storable(body.note),
            tenant=asked.tenant,
            key_id=asked.caller.key_id,
        )
        return {"effectId": effect_id, "status": "settled" if body.happened else "released"}

    def _show(self, question: Confirmation) -> JsonObject:
        return show_approval(question, now=self._runtime.clock.now())


_APPROVALS = Resource(tag="approvals", key="approvalId", shape=schemas.APPROVAL)
_EFFECTS = Resource(tag="effects", key="effectId", shape=schemas.EFFECT)


def decision_endpoints(runtime: Runtime) -> list[Endpoint]:
    decisions = Decisions(runtime)
    waiting = "Approvals that calls have requested, the newest first."
    effects = "Effects of actions, the newest first. Those that are unknown wait for a decision."
    deciding = "Decide an unknown effect: it happened and is settled, or it did not and may run again."
    return [
        _APPROVALS.list_all("listApprovals", waiting, decisions.list_approvals, ApprovalsQuery),
        _APPROVALS.show_one(
            "showApproval",
            "An approval: what was requested, by which call, and what was decided.",
            decisions.show_approval,
        ),
        _APPROVALS.act_on("approve", "Approve a call: the same call then passes once.", decisions.approve, body=Agreed),
        _APPROVALS.act_on("deny", "Refuse a call.", decisions.deny, body=Denied),
        _EFFECTS.list_all("listEffects", effects, decisions.list_effects, EffectsQuery),
        _EFFECTS.show_one("showEffect", "An effect of an action.", decisions.show_effect),
        _EFFECTS.act_on(
            "reconcile",
            deciding,
            decisions.reconcile,
            body=Reconciled,
            body_schema=schemas.RECONCILED,
            shape=schemas.DECIDED,
        ),
    ]
