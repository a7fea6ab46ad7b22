"""A Reply as a GenerateContentResponse."""

from typing import Any

from groundwire.codecs.gemini.citations import CITED
from groundwire.codecs.gemini.finishes import NO_CANDIDATES, write_finish, write_usage
from groundwire.codecs.gemini.parts import is_unnamed, write_call, write_native, write_part, write_reasoning
from groundwire.codecs.gemini.profile import DIALECT
from groundwire.codecs.gemini.response_reading import is_own
from groundwire.codecs.wire.ids import GEMINI_IDS, IdTable
from groundwire.codecs.wire.private import note_extras, note_foreign, own_members, visible
from groundwire.codecs.wire.warnings import Encoded, Losses
from groundwire.contracts.canonical import JsonObject
from groundwire.contracts.messages import CallItem, Citation, Item, Message, NativeItem, ReasoningItem, TextPart
from groundwire.contracts.replies import Finish, FinishReason, Reply
from groundwire.contracts.requests import ModelRequest

_BLOCKED = frozenset({"SAFETY", "OTHER", "BLOCKLIST", "PROHIBITED_CONTENT", "IMAGE_SAFETY", "MODEL_ARMOR", "JAILBREAK"})


def encode_response(
    reply: Reply,
    *,
    request: ModelRequest | None = None,
    created: int | None = None,  # noqa: ARG001 - the dialect has no place for it
) -> Encoded:
    losses = Losses()
    body: JsonObject = {}
    extras = own_extras(reply, losses)
    if is_answer(reply):
        answers = [(reply.items, reply.finish), *((other.items, other.finish) for other in reply.alternatives)]
        candidates: list[Any] = []
        for place, (items, finish) in enumerate(answers):
            parts = write_items(items, finish, losses)
            candidates.append(candidate_of(place, parts, items, write_finish(finish, losses), extras))
        body["candidates"] = candidates
    body.update(closing_members(reply, request, extras, losses))
    if not is_own(body):
        body["candidates"] = []
    return Encoded(body=body, warnings=losses.taken())


def own_extras(reply: Reply, losses: Losses) -> dict[str, Any]:
    """The members that came with a Gemini response; another dialect's are noted as left out."""
    note_extras(reply.extras, DIALECT, losses)
    return own_members(reply.extras, DIALECT)


def is_answer(reply: Reply) -> bool:
    """Whether there is a candidate to send: a blocked prompt and an empty response have none."""
    if reply.items or reply.alternatives:
        return True
    blocked = reply.finish.reason is FinishReason.PROMPT_BLOCKED
    return not blocked and (reply.finish.reason, reply.finish.detail) != (FinishReason.FAILED, NO_CANDIDATES)


def candidate_of(
    place: int, parts: list[JsonObject], items: tuple[Item, ...], ending: JsonObject, extras: dict[str, Any]
) -> JsonObject:
    kept = extras.get("candidates") or extras.get("_candidates")
    members: dict[str, Any] = kept[place] if isinstance(kept, list) and place < len(kept) else {}
    around: Any = members.get("_content", {"role": "model"})
    candidate: JsonObject = {}
    if parts:
        candidate["content"] = {**(around or {}), "parts": list(parts)}
    elif around is not None:
        candidate["content"] = around
    candidate.update(ending)
    if "_no_index" not in members:
        candidate["index"] = place
    if members.keys().isdisjoint(CITED) and (sources := _citations(items)):
        candidate["citationMetadata"] = {"citations": list(sources)}
    candidate.update(visible(members))
    return candidate


def closing_members(reply: Reply, request: ModelRequest | None, extras: dict[str, Any], losses: Losses) -> JsonObject:
    """What stands beside the candidates."""
    members: JsonObject = {}
    if reply.finish.reason is FinishReason.PROMPT_BLOCKED and "promptFeedback" not in extras:
        members["promptFeedback"] = _feedback(reply.finish)
    if reply.usage is not None:
        members["usageMetadata"] = write_usage(reply.usage, losses)
    model = reply.model or (request.model if request is not None else "")
    if model:
        members["modelVersion"] = model
    if reply.reply_id:
        members["responseId"] = reply.reply_id
    members.update((key, value) for key, value in visible(extras).items() if key != "candidates" or value == [])
    return members


def _feedback(finish: Finish) -> JsonObject:
    feedback: JsonObject = {"blockReason": finish.raw if finish.raw in _BLOCKED else "OTHER"}
    if finish.detail is not None:
        feedback["blockReasonMessage"] = finish.detail
    return feedback


def write_items(items: tuple[Item, ...], finish: Finish, losses: Losses) -> list[JsonObject]:
    ids = IdTable(GEMINI_IDS, losses)
    parts: list[JsonObject] = []
    for place, item in enumerate(items):
        parts.extend(write_item(item, finish, losses, f"items[{place}]", ids))
    return parts


def write_item(item: Item, finish: Finish | None, losses: Losses, path: str, ids: IdTable) -> list[JsonObject]:
    """The parts of one item."""
    if isinstance(item, Message):
        if item.private:
            note_foreign(item.private, DIALECT, path, losses)
        written = [write_part(without_citations(part), losses, path) for part in item.parts]
        return [part for part in written if part is not None]
    if isinstance(item, CallItem):
        return [] if is_cut(item, finish, losses, path) else [write_whole_call(item, losses, path, ids)]
    if isinstance(item, ReasoningItem):
        thought = write_thought(item, losses, path)
        return [] if thought is None else [thought]
    if isinstance(item, NativeItem):
        native = write_native(item, losses, path)
        return [] if native is None else [native]
    losses.add("native_dropped", path, "A reply holds no results of the caller's tools.")
    return []


def write_whole_call(item: CallItem, losses: Losses, path: str, ids: IdTable) -> JsonObject:
    wire_id = None if is_unnamed(item) else ids.call(item.call.call_id, path)
    return write_call(item, wire_id, item.call.name, losses, path)


def is_cut(item: CallItem, finish: Finish | None, losses: Losses, path: str) -> bool:
    """A client of Gemini runs every call it sees, unless the finish reason says that the call is malformed."""
    if item.complete or item.call.origin == DIALECT:
        return False
    if finish is not None and finish.reason is FinishReason.MALFORMED_CALL:
        return False
    losses.add("call_dropped", path, f"The call of {item.call.name!r} was cut off.")
    return True


def write_thought(item: ReasoningItem, losses: Losses, path: str) -> JsonObject | None:
    """Thoughts of any model can be shown; what only its provider reads cannot."""
    if DIALECT in item.private:
        return write_reasoning(item, losses, path)
    if item.private:
        note_foreign(item.private, DIALECT, path, losses)
    return {"text": item.text, "thought": True} if item.text else None


def without_citations(part: Any) -> Any:
    """They are told beside the text, see `candidate_of`."""
    if isinstance(part, TextPart) and part.citations:
        return TextPart(text=part.text, private=part.private)
    return part


def _citations(items: tuple[Item, ...]) -> list[JsonObject]:
    parts = [part for item in items if isinstance(item, Message) for part in item.parts]
    return [_citation(source) for part in parts if isinstance(part, TextPart) for source in part.citations]


def _citation(source: Citation) -> JsonObject:
    members = {"startIndex": source.start, "endIndex": source.end, "uri": source.url, "title": source.title}
    return {key: value for key, value in members.items() if value is not None}
