"""What was heard: the model's answer as it enters the run. Pure.

A provider of somebody's own may give anything: what is no answer is none, and what is wrong with one is put right.
"""

import hashlib
from collections.abc import Iterable
from collections.abc import Set as AbstractSet

from msgspec.structs import replace

from groundwire.contracts.messages import CallItem, Item, Message
from groundwire.contracts.replies import Finish, FinishReason, Reply, Usage, WireWarning
from groundwire.runtime.runs.thoughts import without_leaks

MAX_TOKENS = 10**12


def hear(reply: Reply, known: AbstractSet[str], step: int, *, mark: str = "") -> Reply | None:
    """The reply, with ids that are its own among those `known`; None if it does not hold what a reply holds."""
    finish = reply.finish
    if type(finish) is not Finish or type(finish.reason) is not FinishReason or type(reply.model) is not str:
        return None
    ids: list[str] = []
    has_others = False
    items: Iterable[object] = reply.items
    for item in items:
        if type(item) is CallItem:
            call = item.call
            if type(call.name) is not str or type(call.raw) is not str or type(call.call_id) is not str:
                return None
            ids.append(call.call_id)
        elif isinstance(item, Item):
            has_others = True
        else:
            return None
    if reply.warnings and not all(type(warning) is WireWarning for warning in reply.warnings):
        return None
    if has_others:
        reply = _as_the_model_said(without_leaks(reply))
    if ids and (mark or not known.isdisjoint(ids) or (len(ids) > 1 and len(set(ids)) < len(ids))):
        reply = _with_new_ids(reply, known, step, mark)
    used = reply.usage
    return reply if used is None or _is_sane(used) else replace(reply, usage=None)


def mark_of(run_id: str) -> str:
    """What the ids of a run's calls have in them where other runs share its session: those may number theirs alike."""
    return hashlib.sha256(run_id.encode()).hexdigest()[:8]


def _as_the_model_said(reply: Reply) -> Reply:
    """Without words of others. A provider of somebody's own may repeat them, and they would prove what nobody said."""
    kept = tuple([item for item in reply.items if type(item) is not Message or item.role == "assistant"])
    return reply if len(kept) == len(reply.items) else replace(reply, items=kept)


def _with_new_ids(reply: Reply, known: AbstractSet[str], step: int, mark: str) -> Reply:
    """Some providers number their calls anew in every answer: an id that was there before gets the step behind it."""
    given: set[str] = set()
    numbers: dict[str, int] = {}
    items: list[Item] = []
    for item in reply.items:
        if isinstance(item, CallItem):
            call_id = wanted = f"{item.call.call_id}_{mark}" if mark else item.call.call_id
            while call_id in known or call_id in given:
                number = numbers.get(wanted, step)
                call_id, numbers[wanted] = f"{wanted}_{number}", number + 1
            given.add(call_id)
            items.append(replace(item, call=replace(item.call, call_id=call_id)))
        else:
            items.append(item)
    return replace(reply, items=tuple(items))


def _is_sane(used: Usage) -> bool:
    """Whether a model can have used that. A limit would be blind to other counts, and a store cannot hold them."""
    for count in (used.input, used.output, used.total, used.cached or 0, used.cache_write or 0, used.reasoning or 0):
        if type(count) is not int or not 0 <= count <= MAX_TOKENS:
            return False
    return True
