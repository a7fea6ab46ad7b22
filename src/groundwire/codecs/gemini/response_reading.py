"""A GenerateContentResponse as a Reply. Read leniently: what a candidate holds counts, not what it claims to be."""

from collections.abc import Iterable, Mapping
from typing import Any

from groundwire.codecs.gemini.casing import camel_keys, dict_of
from groundwire.codecs.gemini.citations import CITED, cited
from groundwire.codecs.gemini.finishes import NO_CANDIDATES, blocked_finish, read_finish, read_usage
from groundwire.codecs.gemini.profile import DIALECT
from groundwire.codecs.gemini.turns import TurnReader, id_prefix
from groundwire.codecs.gemini.usual import read_usual
from groundwire.codecs.wire.building import withdraw_calls
from groundwire.codecs.wire.json import read_object
from groundwire.codecs.wire.private import keep, unknown_values, visible
from groundwire.contracts.canonical import JsonObject
from groundwire.contracts.errors import WireError
from groundwire.contracts.messages import Item
from groundwire.contracts.replies import Alternative, Finish, FinishReason, Reply

TOP = frozenset({"candidates", "usageMetadata", "modelVersion", "responseId"})
_SIGNS = ("candidates", "promptFeedback", "usageMetadata", "modelVersion", "responseId")
CANDIDATE = frozenset({"content", "finishReason", "finishMessage", "index"})

_USUAL: JsonObject = {"role": "model"}


def decode_response(body: bytes | JsonObject, *, names: Mapping[str, str] | None = None) -> Reply:
    names = names or {}
    usual = read_usual(body, names) if type(body) is bytes else None
    return _read_any(body, names) if usual is None else usual


def _read_any(body: bytes | JsonObject, names: Mapping[str, str]) -> Reply:
    wire = camel_keys(read_object(body))
    if not is_own(wire):
        raise WireError("is missing, and so is all else that a response has", path="candidates")
    reply_id = _text(wire.get("responseId"))
    candidates = wire.get("candidates")
    extras = unknown_values(wire, TOP)
    answers: list[tuple[tuple[Item, ...], Finish]] = []
    kept: list[JsonObject] = []
    for place, entry in enumerate(candidates if isinstance(candidates, list) else []):
        candidate = dict_of(entry)
        items, finish, members = _read_candidate(candidate, id_prefix(reply_id, place, candidate), names)
        answers.append((items, finish))
        kept.append({**members, **odd_index(candidate.get("index"), place)})
    if candidates == []:
        extras["candidates"] = []
    extras.update(kept_candidates(kept))
    items, finish = answers[0] if answers else ((), answerless(wire))
    return Reply(
        reply_id=reply_id,
        model=_text(wire.get("modelVersion")),
        items=items,
        finish=finish,
        usage=read_usage(wire.get("usageMetadata")),
        alternatives=tuple(Alternative(items=items, finish=finish) for items, finish in answers[1:]),
        extras=keep(DIALECT, extras),
    )


def is_own(wire: JsonObject) -> bool:
    """Whether it has anything by which a response, or an event of a stream, is known as Gemini's."""
    return any(wire.get(name) is not None for name in _SIGNS)


def answerless(wire: JsonObject) -> Finish:
    """Without candidates: the prompt was blocked, or nothing is known."""
    blocked = blocked_finish(wire.get("promptFeedback"))
    return blocked or Finish(reason=FinishReason.FAILED, detail=NO_CANDIDATES)


def _read_candidate(
    candidate: JsonObject, prefix: str, names: Mapping[str, str]
) -> tuple[tuple[Item, ...], Finish, JsonObject]:
    content = candidate.get("content")
    parts: Any = content.get("parts") if isinstance(content, dict) else None
    items = TurnReader(prefix, names).read_leniently(parts if isinstance(parts, list) else ())
    members = unknown_values(candidate, CANDIDATE)
    if members and not members.keys().isdisjoint(CITED):
        items = cited(items, members)
    ended, finish = ended_items(items, candidate.get("finishReason"), candidate.get("finishMessage"))
    shape = odd_shape(content, parts)
    if shape is not None:
        members.update(shape)
    return ended, finish, members


def ended_items(items: Iterable[Item], raw: Any, message: Any) -> tuple[tuple[Item, ...], Finish]:
    items = tuple(items)
    finish = read_finish(raw, message, items)
    return withdraw_calls(items, finish.reason), finish


def odd_shape(content: Any, parts: Any) -> JsonObject | None:
    """A hint for contents that are not parts said by the model: without parts, without role, or missing."""
    if not isinstance(content, dict):
        return {"_content": None}
    around = {key: value for key, value in content.items() if key != "parts"}
    if isinstance(parts, list):
        return None if around == _USUAL and parts else {"_content": around if parts else content}
    return {"_content": around}


def odd_index(index: Any, place: int) -> JsonObject:
    """A hint for a candidate whose index is not its place in the list, or is not said."""
    if type(index) is int and index == place:
        return {}
    return {"_no_index": True} if index is None else {"index": index}


def kept_candidates(kept: list[JsonObject]) -> JsonObject:
    """What the candidates held beside the usual, as a member of the extras; mere notes on their shape stay our own."""
    if not any(kept):
        return {}
    return {"candidates" if any(map(visible, kept)) else "_candidates": list(kept)}


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
