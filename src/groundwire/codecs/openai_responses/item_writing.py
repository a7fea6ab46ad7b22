"""Items for an input or an output, to the wire. One writer serves one body; it knows its names, ids and losses."""

from groundwire.codecs.openai_responses.item_reading import ROLES, has_output_shape, is_list_by_default
from groundwire.codecs.openai_responses.namespaces import bare_names
from groundwire.codecs.openai_responses.parts import write_parts
from groundwire.codecs.openai_responses.profile import DEFAULT_PROFILE, DIALECT, Profile
from groundwire.codecs.wire.freeform import freeform_names, freeform_text
from groundwire.codecs.wire.ids import IdTable
from groundwire.codecs.wire.names import NameTable
from groundwire.codecs.wire.pairing import MISSING_RESULT
from groundwire.codecs.wire.private import give_back, note_foreign, own_members
from groundwire.codecs.wire.warnings import Losses
from groundwire.contracts.canonical import JsonObject
from groundwire.contracts.messages import (
    CallItem,
    Item,
    Message,
    NativeItem,
    Private,
    ReasoningItem,
    ResultItem,
    TextPart,
)
from groundwire.contracts.requests import DeclaredTool, ModelRequest


class InputWriter:
    """Writes the items of a request, which has these tools."""

    def __init__(
        self, profile: Profile, names: NameTable, ids: IdTable, losses: Losses, tools: tuple[DeclaredTool, ...]
    ) -> None:
        self._profile = profile
        self._names = names
        self._ids = ids
        self._losses = losses
        self._freeform = freeform_names(tools)
        self._bare = bare_names(tools)
        self._custom_ids: set[str] = set()

    def write(self, item: Item, path: str, *, with_id: bool) -> JsonObject | None:
        """The wire item, or None for what cannot be sent. Without `with_id` the item's own id stays behind."""
        if isinstance(item, NativeItem):
            return self._write_native(item, path)
        if item.private:
            note_foreign(item.private, DIALECT, path, self._losses)
        if isinstance(item, Message):
            written = self._write_message(item, path)
        elif isinstance(item, CallItem):
            written = self._write_call(item, path)
        elif isinstance(item, ResultItem):
            written = self._write_result(item, path)
        else:
            return write_reasoning(item)
        if not with_id and "id" in written:
            del written["id"]
        return written

    def _write_native(self, item: NativeItem, path: str) -> JsonObject | None:
        if item.origin == DIALECT:
            return item.value
        self._losses.add("native_dropped", path, f"An entry that only {item.origin} understands was left out.")
        return None

    def _write_message(self, item: Message, path: str) -> JsonObject:
        role, parts = item.role, item.parts
        if not item.private and len(parts) == 1 and role in ROLES:
            part = parts[0]
            if isinstance(part, TextPart) and not part.private and not part.citations:
                return {"role": role, "content": part.text}
        members = own_members(item.private, DIALECT)
        if role not in ROLES and "_role" not in members:
            self._losses.add("role_changed", path, f"The role {role!r} is sent as user.")
            role = "user"
        is_output = has_output_shape(members)
        written: JsonObject = {"type": "message"} if members.get("_typed", is_output) else {}
        written["role"] = role
        if members.get("_list", is_list_by_default(item.parts, is_output=is_output)):
            text_type = "output_text" if role == "assistant" else "input_text"
            written["content"] = [
                *write_parts(item.parts, f"{path}.parts", text_type, self._losses, self._profile),
            ]
        else:
            written["content"] = item.text
        return give_back(written, members) if members else written

    def _write_call(self, item: CallItem, path: str) -> JsonObject:
        call, members = item.call, own_members(item.private, DIALECT)
        written: JsonObject = {
            "type": "function_call",
            "call_id": self._ids.call(call.call_id, path),
        }
        if call.name in self._bare:
            written["namespace"], written["name"] = self._bare[call.name]
        else:
            written["name"] = self._names.wire(call.name, path)
        text = freeform_text(call.raw) if members.get("_custom") or call.name in self._freeform else None
        if text is not None:
            self._custom_ids.add(call.call_id)
            written["type"] = "custom_tool_call"
            written["input"] = text
        else:
            self._custom_ids.discard(call.call_id)
            written["arguments"] = members.get("_arguments", call.raw)
            if self._profile.status_null:
                written["status"] = None
        return give_back(written, members) if members else written

    def _write_result(self, item: ResultItem, path: str) -> JsonObject:
        if item.failed and item.text != MISSING_RESULT:
            self._losses.add("failure_unmarked", path, f"The call {item.call_id!r} failed.")
        members = own_members(item.private, DIALECT)
        is_custom = members.get("_custom") or item.call_id in self._custom_ids
        written: JsonObject = {
            "type": "custom_tool_call_output" if is_custom else "function_call_output",
            "call_id": self._ids.result(item.call_id),
        }
        is_list = members.get("_list")
        if is_list is None:
            is_list = bool(item.parts) and is_list_by_default(item.parts, is_output=False)
        if is_list:
            written["output"] = [
                *write_parts(item.parts, f"{path}.parts", "input_text", self._losses, self._profile),
            ]
        else:
            written["output"] = item.text
        return give_back(written, members) if members else written


def write_reasoning(item: ReasoningItem) -> JsonObject:
    """Reasoning in its own form; a text of another dialect as a summary."""
    members = own_members(item.private, DIALECT)
    written: JsonObject = {"type": "reasoning", "summary": []}
    if not members and item.text:
        written["summary"] = [{"type": "summary_text", "text": item.text}]
    return give_back(written, members)


class Offered:
    """What the client has said of the tools that an answer may call."""

    __slots__ = ("_bare", "_freeform")

    def __init__(self, request: ModelRequest | None) -> None:
        tools = request.tools if request is not None else ()
        self._freeform = freeform_names(tools)
        self._bare = bare_names(tools)

    def is_custom(self, name: str, private: Private) -> bool:
        """Whether the tool takes plain text."""
        return name in self._freeform or bool(own_members(private, DIALECT).get("_custom"))

    def spelled(self, name: str) -> JsonObject:
        """A tool's name as the client has written it."""
        if name not in self._bare:
            return {"name": name}
        namespace, bare = self._bare[name]
        return {"name": bare, "namespace": namespace}


def write_output_item(item: Item, path: str, item_id: str, losses: Losses, offered: Offered) -> JsonObject | None:
    """An item of a response, with the id that it has there; None for what cannot be said to a client."""
    if isinstance(item, NativeItem):
        if item.origin == DIALECT:
            return item.value
        losses.add("native_dropped", path, f"An entry that only {item.origin} understands was left out.")
        return None
    if item.private:
        note_foreign(item.private, DIALECT, path, losses)
    members = own_members(item.private, DIALECT)
    if isinstance(item, Message):
        written = give_back(_output_message(item, path, losses), members)
    elif isinstance(item, CallItem):
        written = give_back(_output_call(item, members, offered), members)
        if not item.complete and written.get("status") == "completed":
            written["status"] = "incomplete"
    elif isinstance(item, ReasoningItem):
        if not members and not item.text:
            losses.add("reasoning_dropped", path, "Reasoning without text was left out.")
            return None
        written = write_reasoning(item)
    else:
        losses.add("native_dropped", path, "A tool's result is no part of a response and was left out.")
        return None
    written["id"] = item_id
    return written


def _output_message(item: Message, path: str, losses: Losses) -> JsonObject:
    content = write_parts(item.parts, f"{path}.parts", "output_text", losses, DEFAULT_PROFILE, answer=True)
    return {"type": "message", "status": "completed", "role": "assistant", "content": [*content]}


def _output_call(item: CallItem, members: JsonObject, offered: Offered) -> JsonObject:
    call = item.call
    text = freeform_text(call.raw) if offered.is_custom(call.name, item.private) else None
    if text is not None:
        return {"type": "custom_tool_call", "call_id": call.call_id, **offered.spelled(call.name), "input": text}
    return {
        "type": "function_call",
        "status": "completed" if item.complete else "incomplete",
        "call_id": call.call_id,
        **offered.spelled(call.name),
        "arguments": members.get("_arguments", call.raw),
    }
