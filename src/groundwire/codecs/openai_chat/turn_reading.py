"""The assistant's messages, as they stand in histories and in responses: text, refusals, reasoning and calls.

Reads leniently what compatible servers make of the shapes. Notes on a shape are kept beside the value; those that only
matter for answering a client (`_reply`, `_message_reply`) never go back to a provider.
"""

from collections.abc import Mapping
from typing import Any

from groundwire.codecs.openai_chat.parts import read_part
from groundwire.codecs.openai_chat.profile import DIALECT
from groundwire.codecs.openai_chat.thinking import split_thinking
from groundwire.codecs.wire.ids import OPENAI_CHAT_IDS, derived_id, unique_id
from groundwire.codecs.wire.json import dump_text
from groundwire.codecs.wire.names import original_name
from groundwire.codecs.wire.private import keep, own_members, unknown_values
from groundwire.codecs.wire.reading import as_list, as_object, as_text, expected, optional_text
from groundwire.codecs.wire.results import read_arguments
from groundwire.contracts.calls import ToolCall
from groundwire.contracts.canonical import JsonObject, JsonValue
from groundwire.contracts.errors import WireError
from groundwire.contracts.messages import (
    CallItem,
    Citation,
    Item,
    Message,
    Part,
    Private,
    ReasoningItem,
    RefusalPart,
    TextPart,
)

REASONING_FIELDS = ("reasoning_content", "reasoning")
_KNOWN = frozenset(
    {"role", "content", "tool_calls", "function_call", "refusal", "reasoning_content", "reasoning", "reasoning_details"}
)
_ONLY_IN_REPLIES = frozenset({"annotations", "channel"})
_CALL = frozenset({"id", "type", "function"})
_CUSTOM_CALL = frozenset({"id", "type", "custom"})
_FUNCTION = frozenset({"name", "arguments"})
_CUSTOM = frozenset({"name", "input"})


class TurnReader:
    """Reads assistant messages of one body. `names` leads from wire names to the caller's; `seed` makes missing ids."""

    def __init__(
        self, *, names: Mapping[str, str] = {}, seed: str = "", is_reply: bool = False, splits_thinking: bool = False
    ) -> None:
        self._names = names
        self._seed = seed
        self._is_reply = is_reply
        self._splits_thinking = splits_thinking
        self._taken: set[str] = set()
        self.unnamed: list[tuple[str, str]] = []
        """Name and made-up id of the calls that came without one, until their results come."""

    def read(self, message: JsonObject, path: str) -> list[Item]:
        items: list[Item] = []
        self._read_reasoning(message, path, items)
        rest, reply_only = self._read_rest(message)
        content = message.get("content")
        refusal = optional_text(message, "refusal", path)
        calls = self._read_calls(message, path, reply_only)
        if type(content) is list:
            self._read_list(content, f"{path}.content", items)
        elif content is not None and type(content) is not str:
            raise expected(f"{path}.content", "a string or an array", content)
        elif content and self._splits_thinking:
            items += split_thinking(content, after_reasoning=bool(items))
        elif content or (content is not None and not (items or calls or refusal)):
            items.append(Message(role="assistant", parts=(TextPart(text=content),)))
        elif content is not None:
            (reply_only if self._is_reply else rest)["content"] = content
        if refusal:
            _add_part(items, RefusalPart(text=refusal))
        elif refusal is not None:
            reply_only["refusal"] = refusal
        items += calls
        if not items:
            items.append(Message(role="assistant", parts=()))
        if rest or reply_only:
            attach(items, rest, reply_only)
        return items

    def _read_reasoning(self, message: JsonObject, path: str, items: list[Item]) -> None:
        members: JsonObject = {}
        text = ""
        for field in REASONING_FIELDS:
            value = message.get(field)
            if value is None:
                continue
            if type(value) is not str and not self._is_reply:
                raise expected(f"{path}.{field}", "a string", value)
            if type(value) is str and "_field" not in members:
                members["_field"], text = field, value
            else:
                members[field] = value
        details = message.get("reasoning_details")
        if details is not None:
            members["reasoning_details"] = details
            text = text or text_of_details(details)
        if members:
            items.append(ReasoningItem(text=text, private={DIALECT: members}))

    def _read_rest(self, message: JsonObject) -> tuple[JsonObject, JsonObject]:
        """Members without a place of their own: those for everybody, and those that only a client may see again."""
        if message.keys() <= _KNOWN:
            return {}, {}
        rest, reply_only = dict(unknown_values(message, _KNOWN)), {}
        if self._is_reply:
            reply_only = {name: rest.pop(name) for name in _ONLY_IN_REPLIES & rest.keys()}
        return rest, reply_only

    def _read_list(self, content: list[Any], path: str, items: list[Item]) -> None:
        spoken: list[Part] = []
        has_thoughts = False
        for place, value in enumerate(content):
            if type(value) is dict and value.get("type") == "thinking":
                if spoken:
                    items.append(Message(role="assistant", parts=tuple(spoken)))
                    spoken = []
                items.append(read_thinking_part(value))
                has_thoughts = True
            else:
                spoken.append(read_part(value, f"{path}[{place}]", from_user=False))
        hint = not has_thoughts and (len(spoken) < 2 or any(not isinstance(part, TextPart) for part in spoken))
        if spoken or not has_thoughts:
            private: Private = {DIALECT: {"_list": True}} if hint else {}
            items.append(Message(role="assistant", parts=tuple(spoken), private=private))

    def _read_calls(self, message: JsonObject, path: str, reply_only: JsonObject) -> list[CallItem]:
        calls: list[CallItem] = []
        entries = message.get("tool_calls")
        if entries is not None:
            listed = listed_calls(entries) if self._is_reply else as_list(entries, f"{path}.tool_calls")
            calls = [self._read_call(entry, f"{path}.tool_calls[{place}]") for place, entry in enumerate(listed)]
            if self._is_reply and entries == []:
                reply_only["tool_calls"] = []
        legacy = message.get("function_call")
        if legacy is not None:
            function = as_object(legacy, f"{path}.function_call")
            if function.get("name"):
                call = self._read_call({"type": "function", "function": function}, f"{path}.function_call")
                hints = {**own_members(call.private, DIALECT), "_legacy": True}
                calls.append(CallItem(call=call.call, private={DIALECT: hints}))
            elif self._is_reply:
                reply_only["function_call"] = function
        return calls

    def _read_call(self, value: Any, path: str) -> CallItem:
        entry = as_object(value, path)
        hints: JsonObject = {}
        kind = entry.get("type")
        inner, known = entry.get("function"), _FUNCTION
        if kind == "custom" and isinstance(entry.get("custom"), dict):
            inner, known = entry["custom"], _CUSTOM
            hints["_custom"] = True
        elif inner is None and "name" in entry:
            inner, entry = entry, {name: entry[name] for name in entry if name in ("id", "type")}
        function = as_object(inner, f"{path}.function")
        name = as_text(function.get("name"), f"{path}.function.name") if "name" in function else ""
        if not name and not self._is_reply:
            raise WireError("is missing", path=f"{path}.function.name")
        raw = self._read_raw(function, path, hints)
        if kind is None:
            hints["_untyped_reply" if self._is_reply else "_untyped"] = True
        if function.keys() - known and inner is not value:
            hints["_function"] = unknown_values(function, known)
        self._read_call_rest(entry, hints)
        call_id = self._call_id(entry, path, name, hints)
        call = ToolCall(call_id=call_id, name=original_name(name, self._names), raw=raw, origin=DIALECT)
        return CallItem(call=call, private=call_private(hints)) if hints else CallItem(call=call)

    def _read_raw(self, function: JsonObject, path: str, hints: JsonObject) -> str:
        if "_custom" in hints:
            return dump_text({"input": optional_text(function, "input", f"{path}.custom") or ""})
        value = function.get("arguments")
        if type(value) is str:
            raw = read_arguments(value)
            if raw is not value and raw != value:
                hints["_arguments"] = value
            return raw
        if value is None:
            hints["_arguments"] = None
        elif not self._is_reply and not isinstance(value, dict):
            raise expected(f"{path}.function.arguments", "a string", value)
        return read_arguments(value)

    def _read_call_rest(self, entry: JsonObject, hints: JsonObject) -> None:
        known = _CUSTOM_CALL if "_custom" in hints else _CALL
        if entry.keys() <= known:
            return
        rest = dict(unknown_values(entry, known))
        if self._is_reply:
            reply_only: JsonObject = {name: rest.pop(name) for name in ("index", "custom", "function") if name in rest}
            if reply_only:
                hints["_reply"] = reply_only
        hints.update(rest)

    def _call_id(self, entry: JsonObject, path: str, name: str, hints: JsonObject) -> str:
        call_id = entry.get("id")
        if call_id is not None and type(call_id) is not str:
            if not self._is_reply or isinstance(call_id, (dict, list, bool)):
                raise expected(f"{path}.id", "a string", call_id)
            call_id = str(call_id)
        if not call_id:
            call_id = synthetic_id(self._seed, path)
            hints["_synthetic"] = True
            self.unnamed.append((name, call_id))
        if not self._is_reply:
            return call_id
        call_id = unique_id(call_id, self._taken)
        self._taken.add(call_id)
        return call_id


def quick_turn(message: JsonObject) -> list[Item] | None:
    """A history's message in the shape that nearly all have; None for any other, which `TurnReader` reads."""
    content, size = message.get("content"), len(message)
    if type(content) is str:
        if size == 2:
            return [Message(role="assistant", parts=(TextPart(text=content),))]
        if not content:
            return None
    elif content is not None:
        return None
    entries = message.get("tool_calls")
    if type(entries) is not list or not entries or size != 2 + ("content" in message):
        return None
    items: list[Item] = [Message(role="assistant", parts=(TextPart(text=content),))] if content else []
    for entry in entries:
        call = _quick_call(entry)
        if call is None:
            return None
        items.append(call)
    return items


def _quick_call(entry: Any) -> CallItem | None:
    if type(entry) is not dict or len(entry) != 3 or entry.get("type") != "function":
        return None
    call_id, function = entry.get("id"), entry.get("function")
    if type(call_id) is not str or not call_id or type(function) is not dict or len(function) != 2:
        return None
    name, raw = function.get("name"), function.get("arguments")
    if type(name) is not str or not name or type(raw) is not str or not raw or raw.isspace():
        return None
    return CallItem(call=ToolCall(call_id=call_id, name=name, raw=raw, origin=DIALECT))


def synthetic_id(seed: str, place: str) -> str:
    """An id that the same body gives again."""
    return derived_id(f"{seed}/{place}", OPENAI_CHAT_IDS)


def call_private(hints: JsonObject) -> dict[str, JsonObject]:
    """The private data of a call, with a Gemini signature where its own dialect looks for it."""
    signature = _signature(hints.get("extra_content"))
    return {DIALECT: hints, "gemini": {"thoughtSignature": signature}} if signature else {DIALECT: hints}


def _signature(extra: JsonValue) -> str | None:
    google = extra.get("google") if isinstance(extra, dict) else None
    signature = google.get("thought_signature") if isinstance(google, dict) else None
    return signature if isinstance(signature, str) and signature else None


def listed_calls(entries: Any) -> list[Any]:
    """`tool_calls` as a list, also when a server sent an object: one call, or calls under their numbers."""
    if isinstance(entries, list):
        return entries
    if not isinstance(entries, dict):
        raise expected("tool_calls", "an array", entries)
    if "function" in entries or "name" in entries:
        return [entries]
    return [entries[key] for key in sorted(entries, key=lambda key: (len(key), key))]


def text_of_details(details: Any) -> str:
    """The readable part of `reasoning_details`."""
    if not isinstance(details, list):
        return ""
    texts = [detail.get("text") or detail.get("summary") for detail in details if isinstance(detail, dict)]
    return "".join(text for text in texts if isinstance(text, str))


def read_thinking_part(part: JsonObject) -> ReasoningItem:
    """Mistral's `{"type": "thinking", "thinking": [{"type": "text", "text": …}]}` in the content."""
    thoughts = part.get("thinking")
    pieces = thoughts if isinstance(thoughts, list) else [{"type": "text", "text": thoughts}]
    found = [piece.get("text") for piece in pieces if isinstance(piece, dict)]
    texts = [text for text in found if isinstance(text, str)]
    hints: JsonObject = {"_field": "thinking"}
    if part != thinking_part("".join(texts)):
        hints["_part"] = part
    return ReasoningItem(text="".join(texts), private={DIALECT: hints})


def thinking_part(text: str) -> JsonObject:
    return {"type": "thinking", "thinking": [{"type": "text", "text": text}]}


def read_citations(annotations: Any) -> tuple[Citation, ...]:
    """`annotations` of a response's text; kinds that nobody knows are kept as they came."""
    if not isinstance(annotations, list):
        return ()
    return tuple(_read_citation(annotation) for annotation in annotations if isinstance(annotation, dict))


def _read_citation(annotation: JsonObject) -> Citation:
    link = annotation.get("url_citation")
    if annotation.get("type") != "url_citation" or not isinstance(link, dict):
        return Citation(private={DIALECT: {"_raw": annotation}})
    url, title, quote = (link.get(name) for name in ("url", "title", "content"))
    start, end = link.get("start_index"), link.get("end_index")
    return Citation(
        url=url if isinstance(url, str) else None,
        title=title if isinstance(title, str) else None,
        quote=quote if isinstance(quote, str) else None,
        start=start if type(start) is int else None,
        end=end if type(end) is int else None,
        private={DIALECT: {"_raw": annotation}},
    )


def _add_part(items: list[Item], part: Part) -> None:
    last = items[-1] if items else None
    if isinstance(last, Message):
        items[-1] = Message(role="assistant", parts=(*last.parts, part), private=last.private)
    else:
        items.append(Message(role="assistant", parts=(part,)))


def attach(items: list[Item], rest: JsonObject, reply_only: JsonObject) -> None:
    """Keep what was said about the whole message on its text, or else on its first item."""
    annotations = reply_only.pop("annotations", None)
    place = next((place for place, item in enumerate(items) if isinstance(item, Message)), 0)
    item = items[place]
    if isinstance(item, Message):
        hints = {**own_members(item.private, DIALECT), **rest, **({"_reply": reply_only} if reply_only else {})}
        parts = item.parts
        if annotations and parts and isinstance(parts[0], TextPart):
            parts = (TextPart(text=parts[0].text, citations=read_citations(annotations)), *parts[1:])
        elif annotations is not None:
            hints["_reply"] = {**reply_only, "annotations": annotations}
        items[place] = Message(role="assistant", parts=parts, private=keep(DIALECT, hints))
        return
    if annotations is not None:
        reply_only["annotations"] = annotations
    hints = {}
    if rest:
        hints["_message"] = rest
    if reply_only:
        hints["_message_reply"] = reply_only
    if isinstance(item, CallItem):
        private = {**item.private, DIALECT: {**own_members(item.private, DIALECT), **hints}}
        items[place] = CallItem(call=item.call, private=private)
    elif isinstance(item, ReasoningItem):
        private = {**item.private, DIALECT: {**own_members(item.private, DIALECT), **hints}}
        items[place] = ReasoningItem(text=item.text, private=private)
