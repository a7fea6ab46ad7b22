"""The order of a request's items: every call with its output, reasoning with what it led to.

This API is content with any order as long as calls and outputs match, so a history that matches stays as it is.
"""

from collections.abc import Iterable, Sequence
from typing import TypeAlias

from groundwire.codecs.openai_responses.profile import DIALECT, Profile
from groundwire.codecs.wire.pairing import MISSING_RESULT, is_models, paired
from groundwire.codecs.wire.private import own_members
from groundwire.codecs.wire.warnings import Losses
from groundwire.contracts.canonical import JsonObject
from groundwire.contracts.messages import CallItem, Item, NativeItem, ReasoningItem, ResultItem, TextPart

Placed: TypeAlias = tuple[int, Item]
"""An item with its place in the request, or with that of the item for which it was added."""


def matched(items: Sequence[Item], losses: Losses, profile: Profile, *, is_stateful: bool) -> Iterable[Placed]:
    """Calls and results in an order that the endpoint takes.

    `is_stateful`: the provider keeps the earlier part of the conversation, so results may belong to calls there.
    """
    unanswered, has_orphans, is_ambiguous = _unmatched(items)
    if (has_orphans or is_ambiguous) and not is_stateful:
        placed = paired(items, losses)
    elif unanswered:
        placed = _with_missing_results(items, unanswered, losses)
    else:
        placed = enumerate(items)
    return _grouped(placed, losses, has_orphans=has_orphans) if profile.group_calls else placed


def _unmatched(items: Sequence[Item]) -> tuple[set[int], bool, bool]:
    """The places of calls without a result, whether there are results without a call, and whether two calls of one id
    wait at the same time, so that results cannot be told apart by it.
    """
    waiting: dict[str, int] = {}
    unanswered: set[int] = set()
    has_orphans = is_ambiguous = False
    for place, item in enumerate(items):
        if isinstance(item, CallItem):
            before = waiting.get(item.call.call_id)
            if before is not None:
                unanswered.add(before)
                is_ambiguous = True
            waiting[item.call.call_id] = place
        elif isinstance(item, ResultItem):
            has_orphans = waiting.pop(item.call_id, None) is None or has_orphans
        elif isinstance(item, NativeItem) and item.value.get("type") == "item_reference":
            return set(), False, False  # what it refers to may be the other half
    unanswered.update(waiting.values())
    return unanswered, has_orphans, is_ambiguous


def _with_missing_results(items: Sequence[Item], unanswered: set[int], losses: Losses) -> list[Placed]:
    """A result that says so for each such call, at the end of its step."""
    whole: list[Placed] = []
    waiting: list[Placed] = []
    for place, item in enumerate(items):
        if waiting and not isinstance(item, ResultItem) and not _goes_on(items[place - 1], item):
            whole.extend(waiting)
            waiting = []
        whole.append((place, item))
        if place in unanswered and isinstance(item, CallItem):
            call = item.call
            losses.add("result_added", f"items[{place}]", f"The call {call.call_id!r} had no result.")
            parts = (TextPart(text=MISSING_RESULT),)
            waiting.append((place, ResultItem(call_id=call.call_id, name=call.name, parts=parts, failed=True)))
    return [*whole, *waiting]


def _goes_on(before: Item, item: Item) -> bool:
    return is_models(before) and is_models(item) and not item.split


def _grouped(placed: Iterable[Placed], losses: Losses, *, has_orphans: bool) -> list[Placed]:
    """Each step as: what was said and thought, the calls, the results. Nothing stands between two calls."""
    ordered: list[Placed] = []
    said: list[Placed] = []
    calls: list[Placed] = []
    if not has_orphans:
        placed = list(placed)
        placed = paired([item for _, item in placed], losses, places=[place for place, _ in placed])
    for place, item in placed:
        if isinstance(item, CallItem):
            calls.append((place, item))
        elif is_models(item) and not (calls and item.split):
            said.append((place, item))
        else:
            ordered += [*said, *calls, (place, item)]
            said, calls = [], []
    return [*ordered, *said, *calls]


def with_reasoning(items: Iterable[Placed], losses: Losses, profile: Profile) -> list[tuple[int, Item, bool]]:
    """Each item to send with its place, and whether its own id goes with it.

    Reasoning is refused without the item that followed it, and that item is refused by its id without the reasoning:
    so either both go as they came, or the reasoning stays and what follows goes without ids.
    """
    sent: list[tuple[int, Item, bool]] = []
    waiting: list[int] = []
    is_lost = False
    for place, item in items:
        if isinstance(item, ReasoningItem):
            if _is_ours(item, profile):
                waiting.append(len(sent))
                sent.append((place, item, True))
            else:
                losses.add("reasoning_dropped", f"items[{place}]", "Reasoning that this provider cannot check.")
                is_lost = True
            continue
        if is_models(item):
            if not isinstance(item, NativeItem) or item.origin == DIALECT:
                waiting = []  # what only others understand is not sent, so it does not count
        else:
            _drop(sent, waiting, losses)
            waiting, is_lost = [], False
        sent.append((place, item, profile.send_item_ids and not is_lost))
    _drop(sent, waiting, losses)
    return sent


def _drop(sent: list[tuple[int, Item, bool]], waiting: list[int], losses: Losses) -> None:
    for index in reversed(waiting):
        place, _, _ = sent.pop(index)
        losses.add("reasoning_dropped", f"items[{place}]", "Reasoning without the item that it led to was left out.")


def _is_ours(item: ReasoningItem, profile: Profile) -> bool:
    members = own_members(item.private, DIALECT)
    if not members:
        return False
    return profile.send_item_ids or bool(members.get("encrypted_content") or members.get("content"))


def is_stateful(extras: JsonObject) -> bool:
    """Whether the request goes on from what the provider has stored."""
    return extras.get("previous_response_id") is not None or extras.get("conversation") is not None
