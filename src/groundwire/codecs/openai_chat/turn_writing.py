"""The assistant's messages on the wire: one message for all that the model said, thought and asked for in one turn.

The same for histories and for responses, except for what only a client may see, and that a response's content is a
string where its own server did not make it a list.
"""

from groundwire.codecs.openai_chat.parts import write_parts
from groundwire.codecs.openai_chat.profile import DIALECT, Profile
from groundwire.codecs.openai_chat.turn_reading import thinking_part
from groundwire.codecs.wire.freeform import freeform_text
from groundwire.codecs.wire.ids import IdTable
from groundwire.codecs.wire.names import NameTable
from groundwire.codecs.wire.private import NOTHING, note_foreign, own_members, visible
from groundwire.codecs.wire.warnings import Losses
from groundwire.contracts.canonical import JsonObject, JsonValue
from groundwire.contracts.messages import (
    CallItem,
    Citation,
    Item,
    Message,
    NativeItem,
    ReasoningItem,
    RefusalPart,
    ResultItem,
    TextPart,
)

_CARRIED = frozenset({"thoughtSignature", "_synthetic"})
_OPENAIS = Profile()


class TurnWriter:
    """Adds items to a message that is being written. `freeform` names the tools that take plain text."""

    __slots__ = ("_freeform", "_ids", "_is_legacy", "_is_reply", "_losses", "_names", "_profile")

    def __init__(
        self,
        losses: Losses,
        *,
        profile: Profile | None = None,
        names: NameTable | None = None,
        ids: IdTable | None = None,
        freeform: frozenset[str] = frozenset(),
        is_legacy: bool = False,
    ) -> None:
        self._losses = losses
        self._is_reply = profile is None
        self._profile = profile or _OPENAIS
        self._names = names
        self._ids = ids
        self._freeform = freeform
        self._is_legacy = is_legacy

    def add(self, wire: JsonObject, item: Item, path: str) -> None:
        match item:
            case CallItem():
                self.add_call(wire, item, path)
            case Message():
                self.add_message(wire, item, path)
            case ReasoningItem():
                self.add_reasoning(wire, item, path)
            case NativeItem(origin=origin):
                self._losses.add("native_dropped", path, f"An entry that only {origin} understands was left out.")
            case ResultItem():
                self._losses.add("result_orphaned", path, "A result has no place in the model's own message.")

    def add_message(self, wire: JsonObject, item: Message, path: str) -> None:
        members = NOTHING
        if item.private:
            note_foreign(item.private, DIALECT, path, self._losses)
            members = own_members(item.private, DIALECT)
        parts = item.parts
        if len(parts) == 1 and type(parts[0]) is TextPart and not parts[0].private and not parts[0].citations:
            text = parts[0].text
            _append(wire, [{"type": "text", "text": text}] if "_list" in members else text)
        elif parts or "_list" in members:
            self._add_parts(wire, item, members, path)
        if members:
            self._merge(wire, members, "_reply")

    def _add_parts(self, wire: JsonObject, item: Message, members: JsonObject, path: str) -> None:
        is_list = "_list" in members
        refusals = [part.text for part in item.parts if isinstance(part, RefusalPart)]
        if refusals and not is_list:
            wire["refusal"] = str(wire.get("refusal") or "") + "".join(refusals)
        spoken = [part for part in item.parts if is_list or not isinstance(part, RefusalPart)]
        self._cite(wire, item, path)
        content = write_parts(spoken, path, self._losses, from_user=False)
        texts = [text for part in content if (text := _plain_text(part)) is not None]
        is_plain = len(texts) == len(content) and not is_list
        if is_plain and (self._is_reply or self._profile.flat_text or len(texts) == 1):
            if texts:
                _append(wire, "".join(texts))
        elif content or is_list:
            _append(wire, content)

    def _cite(self, wire: JsonObject, item: Message, path: str) -> None:
        before = wire.get("content")
        offset = len(before) if isinstance(before, str) else 0
        for part in item.parts:
            if not isinstance(part, TextPart):
                continue
            for citation in part.citations:
                annotation = _annotation(citation, offset) if self._is_reply else None
                if annotation is None:
                    self._losses.add("citation_dropped", path, "A citation has no place here.")
                else:
                    wire.setdefault("annotations", []).append(annotation)  # type: ignore[union-attr]
            offset += len(part.text)

    def add_reasoning(self, wire: JsonObject, item: ReasoningItem, path: str) -> None:
        note_foreign(item.private, DIALECT, path, self._losses)
        members = own_members(item.private, DIALECT)
        field, tags = members.get("_field"), members.get("_think")
        if DIALECT not in item.private and not self._is_reply:
            self._losses.add("reasoning_dropped", path, "Reasoning of another provider was left out.")
        elif isinstance(tags, list) and len(tags) == 2:
            _append(wire, f"{tags[0]}{item.text}{tags[1]}")
        elif field == "thinking":
            part = members.get("_part")
            _append(wire, [part if isinstance(part, dict) else thinking_part(item.text)])
        elif isinstance(field, str) or (item.text and "reasoning_details" not in members):
            field = field if isinstance(field, str) else "reasoning_content"
            wire[field] = str(wire.get(field) or "") + item.text
        if members:
            for name, value in visible(members).items():
                earlier = wire.get(name)
                wire[name] = [*earlier, *value] if isinstance(earlier, list) and isinstance(value, list) else value
            self._merge_whole(wire, members)

    def add_call(self, wire: JsonObject, item: CallItem, path: str) -> None:
        call, private = item.call, item.private
        members = own_members(private, DIALECT)
        if private:
            note_foreign(private, DIALECT, path, self._losses, carried=_CARRIED)
        name = call.name if self._names is None else self._names.wire(call.name, path)
        is_legacy = "_legacy" in members or (self._is_legacy and self._is_reply)
        is_custom = "_custom" in members or call.name in self._freeform
        arguments: JsonValue = call.raw
        if self._is_reply and "_arguments" in members:
            arguments = members["_arguments"]
        function: JsonObject = {"name": name} if arguments is None else {"name": name, "arguments": arguments}
        if is_legacy:
            self._add_legacy_call(wire, item, function, members, path)
            return
        call_id = call.call_id if self._ids is None else self._ids.call(call.call_id, path)
        if is_custom and (self._is_reply or self._profile.custom_tools):
            entry: JsonObject = {
                "id": call_id,
                "type": "custom",
                "custom": {"name": name, "input": input_text(call.raw)},
            }
        else:
            entry = {"id": call_id, "type": "function", "function": function}
        if members:
            self._finish_call(wire, entry, members)
        if "gemini" in private:
            self._sign(entry, private["gemini"], path)
        wire.setdefault("tool_calls", []).append(entry)  # type: ignore[union-attr]

    def _add_legacy_call(
        self, wire: JsonObject, item: CallItem, function: JsonObject, members: JsonObject, path: str
    ) -> None:
        if self._ids is not None:
            self._ids.call(item.call.call_id, path)
        if "function_call" in wire:
            name = function["name"]
            self._losses.add("call_dropped", path, f"The call of {name!r} is a second one in the legacy form.")
        else:
            wire["function_call"] = {**function, **_object(members.get("_function"))}
        self._merge_whole(wire, members)

    def _finish_call(self, wire: JsonObject, entry: JsonObject, members: JsonObject) -> None:
        if "_untyped" in members or (self._is_reply and "_untyped_reply" in members):
            del entry["type"]
        if not self._profile.minimal_messages:
            entry.update(visible(members))
            inner = entry.get("function") or entry.get("custom")
            if "_function" in members and isinstance(inner, dict):
                inner.update(_object(members["_function"]))
        if self._is_reply:
            entry.update(_object(members.get("_reply")))
        self._merge_whole(wire, members)

    def _sign(self, entry: JsonObject, geminis: JsonObject, path: str) -> None:
        signature = geminis.get("thoughtSignature")
        if isinstance(signature, str) and "extra_content" not in entry:
            if self._is_reply or self._profile.google_signatures:
                entry["extra_content"] = {"google": {"thought_signature": signature}}
            else:
                self._losses.add("private_dropped", path, "thoughtSignature of gemini was left out.")

    def _merge(self, wire: JsonObject, members: JsonObject, reply_name: str) -> None:
        if not self._profile.minimal_messages:
            wire.update(visible(members))
            audio = wire.get("audio")
            if not self._is_reply and isinstance(audio, dict) and "id" in audio:
                wire["audio"] = {"id": audio["id"]}
        if self._is_reply:
            wire.update(_object(members.get(reply_name)))

    def _merge_whole(self, wire: JsonObject, members: JsonObject) -> None:
        """What was said about the whole message, when it stood on its first item."""
        if "_message" in members and not self._profile.minimal_messages:
            wire.update(_object(members["_message"]))
        if self._is_reply and "_message_reply" in members:
            wire.update(_object(members["_message_reply"]))


def input_text(raw: str) -> str:
    """What a free-text tool is given: a call of the function that stands for it elsewhere carries it inside."""
    text = freeform_text(raw)
    return raw if text is None else text


def _append(wire: JsonObject, content: str | list[JsonValue]) -> None:
    before = wire.get("content")
    if not before:
        wire["content"] = content
    elif isinstance(before, str) and isinstance(content, str):
        wire["content"] = before + content
    else:
        wire["content"] = _as_parts(before) + _as_parts(content)


def _as_parts(content: JsonValue) -> list[JsonValue]:
    if isinstance(content, list):
        return content
    return [{"type": "text", "text": content}] if content else []


def _plain_text(part: JsonValue) -> str | None:
    if isinstance(part, dict) and part.get("type") == "text" and len(part) == 2:
        text = part["text"]
        return text if isinstance(text, str) else None
    return None


def _annotation(citation: Citation, offset: int) -> JsonObject | None:
    raw = own_members(citation.private, DIALECT).get("_raw")
    if isinstance(raw, dict):
        return raw
    if citation.url is None:
        return None
    link: JsonObject = {"url": citation.url, "title": citation.title or citation.url}
    link["start_index"] = offset + (citation.start or 0)
    link["end_index"] = offset + (citation.end or 0)
    return {"type": "url_citation", "url_citation": link}


def _object(value: JsonValue) -> JsonObject:
    return value if isinstance(value, dict) else NOTHING
