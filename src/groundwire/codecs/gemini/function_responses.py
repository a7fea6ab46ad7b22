"""Function responses: results of calls, found by id, else by name and order, because Gemini may leave ids out."""

from collections import defaultdict, deque
from typing import Any

from groundwire.codecs.gemini.casing import camel_keys
from groundwire.codecs.gemini.media_parts import is_media, read_media, write_media
from groundwire.codecs.gemini.parts import is_unnamed
from groundwire.codecs.gemini.profile import DIALECT
from groundwire.codecs.wire.media import media_note
from groundwire.codecs.wire.private import take_own, unknown_values, visible
from groundwire.codecs.wire.reading import as_list, as_object, optional_text, required_text
from groundwire.codecs.wire.results import object_result, text_result
from groundwire.codecs.wire.warnings import Losses
from groundwire.contracts.canonical import JsonObject
from groundwire.contracts.messages import CallItem, Item, MediaPart, NativePart, Part, ResultItem, TextPart

_PART = frozenset({"functionResponse"})
_RESPONSE = frozenset({"id", "name", "response", "parts"})


class OpenCalls:
    """The calls of the last model turn that still wait for their response."""

    __slots__ = ("_by_id", "_by_name", "_order", "_unnamed", "_waiting", "made")

    def __init__(self) -> None:
        self.made = 0
        self.ask([])

    def ask(self, items: list[Item]) -> None:
        calls = [item for item in items if isinstance(item, CallItem)]
        self._waiting = dict(enumerate(calls))
        self._order = deque(self._waiting)
        self._by_id: defaultdict[str, deque[int]] = defaultdict(deque)
        self._by_name: defaultdict[str, deque[int]] = defaultdict(deque)
        self._unnamed: defaultdict[str, deque[int]] = defaultdict(deque)
        for place, item in enumerate(calls):
            self._by_id[item.call.call_id].append(place)
            self._by_name[item.call.name].append(place)
            if is_unnamed(item):
                self._unnamed[item.call.name].append(place)

    def answer(self, name: str, call_id: str | None) -> tuple[str, bool]:
        """The id of the call that is answered, and whether the response itself said it."""
        if call_id:
            if self._take(self._by_id[call_id]) is not None:
                return call_id, True
            found = self._take(self._unnamed[name])
            return (call_id, True) if found is None else (found.call.call_id, False)
        found = self._take(self._by_name[name]) or self._take(self._order)
        if found is not None:
            return found.call.call_id, False
        self.made += 1
        return f"unasked_{self.made}", False

    def _take(self, places: deque[int]) -> CallItem | None:
        """The first of these that still waits, which it then no longer does; each place is looked at once."""
        while places:
            if (found := self._waiting.pop(places.popleft(), None)) is not None:
                return found
        return None


def read_response(part: JsonObject, path: str, calls: OpenCalls, role: str | None) -> ResultItem:
    """`role` is the content's, if it was not `user`."""
    at = f"{path}.functionResponse"
    wire = camel_keys(as_object(part["functionResponse"], at))
    members = unknown_values(part, _PART)
    if further := unknown_values(wire, _RESPONSE):
        members["functionResponse"] = further
    name = required_text(wire, "name", at)
    wire_id = optional_text(wire, "id", at)
    call_id, is_said = calls.answer(name, wire_id)
    if not is_said:
        members["_id"] = wire_id
    parts: list[Part] = []
    failed = False
    if wire.get("response") is None:
        members["_bare"] = True
    else:
        response = as_object(wire["response"], f"{at}.response")
        text, failed = text_result(response)
        parts.append(TextPart(text=text))
        if _is_ambiguous(response):
            members["_response"] = response
    if wire.get("parts") is not None:
        for place, entry in enumerate(as_list(wire["parts"], f"{at}.parts")):
            parts.append(_read_media(entry, f"{at}.parts[{place}]"))
    if role != "user":
        members["_role"] = role
    return ResultItem(
        call_id=call_id, name=name, parts=tuple(parts), failed=failed, private={DIALECT: members} if members else {}
    )


def _is_ambiguous(response: JsonObject) -> bool:
    """Whether reading it as text and writing that again may give another object."""
    if len(response) != 1:
        return False
    ((key, value),) = response.items()
    if key == "error" and isinstance(value, dict):
        return False
    return key in ("error", "output") and (not isinstance(value, str) or value.lstrip()[:1] == "{")


def _read_media(entry: Any, path: str) -> Part:
    part = camel_keys(as_object(entry, path))
    return read_media(part, path) if is_media(part) else NativePart(origin=DIALECT, value=part)


def write_response(
    item: ResultItem, wire_id: str | None, name: str, losses: Losses, path: str, *, media: list[JsonObject] | None
) -> JsonObject:
    """A part for the result. Media go into it, or onto the list `media` for models that take none in results."""
    members = take_own(item.private, DIALECT, path, losses) if item.private else {}
    wire: JsonObject = {"name": name}
    wire_id = members.get("_id", wire_id)  # type: ignore[assignment]
    if wire_id is not None:
        wire["id"] = wire_id
    parts = item.parts
    if len(parts) == 1 and type(parts[0]) is TextPart:
        text = parts[0].text
    else:
        text = _write_media(item, wire, losses, path, media)
    if members:
        return _with_members(item, wire, text, members)
    wire["response"] = object_result(text, failed=item.failed)
    return {"functionResponse": wire}


def _write_media(item: ResultItem, wire: JsonObject, losses: Losses, path: str, media: list[JsonObject] | None) -> str:
    """Put the media in their place and give back the text."""
    texts: list[str] = []
    inside: list[JsonObject] = []
    for place, part in enumerate(item.parts):
        at = f"{path}.parts[{place}]"
        if isinstance(part, MediaPart):
            written = write_media(part, losses, at)
            if "text" in written:
                texts.append(str(written["text"]))
            elif media is None:
                inside.append(written)
            else:
                losses.add("media_moved", at, "The model takes no media in results; a user message after it has them.")
                texts.append(media_note(part, "follows below"))
                media.append(written)
        elif isinstance(part, NativePart):
            if part.origin == DIALECT:
                inside.append(part.value)
            else:
                losses.add("native_dropped", at, f"Only {part.origin} understands this part.")
        else:
            texts.append(part.text)
    if inside:
        wire["parts"] = list(inside)
    return "".join(texts)


def _with_members(item: ResultItem, wire: JsonObject, text: str, members: JsonObject) -> JsonObject:
    written = members.get("_response")
    if isinstance(written, dict) and text_result(written) == (text, item.failed):
        wire["response"] = written
    elif text or item.failed or "_bare" not in members:
        wire["response"] = object_result(text, failed=item.failed)
    further = members.get("functionResponse")
    if isinstance(further, dict):
        wire.update(visible(further))
    beside = {key: value for key, value in visible(members).items() if key != "functionResponse"}
    return {"functionResponse": wire, **beside}
