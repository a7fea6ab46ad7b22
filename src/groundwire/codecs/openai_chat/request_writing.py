"""A canonical request as a Chat request for one endpoint, with everything that was lost on the way."""

from groundwire.codecs.caching import ToolCache
from groundwire.codecs.openai_chat.declarations import NAME_RULE
from groundwire.codecs.openai_chat.options import (
    write_format,
    write_limit,
    write_reasoning,
    write_sampling,
    write_stream,
)
from groundwire.codecs.openai_chat.parts import write_media, write_parts
from groundwire.codecs.openai_chat.profile import DIALECT, Profile
from groundwire.codecs.openai_chat.tools import is_legacy, write_choice, write_tools
from groundwire.codecs.openai_chat.turn_writing import TurnWriter
from groundwire.codecs.wire.freeform import freeform_names
from groundwire.codecs.wire.ids import IdTable, names_by_id
from groundwire.codecs.wire.media import media_note
from groundwire.codecs.wire.names import NameTable
from groundwire.codecs.wire.openai import canonical_path, carry_extras
from groundwire.codecs.wire.pairing import MISSING_RESULT, paired
from groundwire.codecs.wire.private import note_foreign, own_members, visible
from groundwire.codecs.wire.stored import refuse_stored
from groundwire.codecs.wire.warnings import Encoded, Losses
from groundwire.contracts.canonical import JsonObject, JsonValue
from groundwire.contracts.messages import CallItem, MediaPart, Message, Part, ResultItem, TextPart
from groundwire.contracts.requests import ModelRequest

_MINIMAL = frozenset({"role", "content", "name"})
_MERGED = frozenset({"system", "developer", "user", "assistant"})
_DEFAULT = Profile()


def encode_request(
    request: ModelRequest,
    *,
    profile: Profile = _DEFAULT,
    cache: ToolCache | None = None,
    fragments: bool = False,  # noqa: ARG001 - arguments and results are text here in any case
) -> Encoded:
    refuse_stored(request.extras, DIALECT)
    losses = Losses()
    names = NameTable(NAME_RULE, losses, request.tools)
    kept = own_members(request.extras, DIALECT)
    body: JsonObject = {"model": request.model}
    freeform = freeform_names(request.tools)
    tools = _write_tools(request, names, profile, losses, cache)
    body["messages"] = _MessagesWriter(request, names, profile, freeform, losses).write()
    body.update(tools)
    if request.tool_choice is not None or request.parallel_calls is not None:
        _write_choice(request, body, names, profile, freeform, losses)
    write_sampling(request.sampling, body, kept, profile, losses)
    write_limit(request.max_output_tokens, body, kept, profile)
    if request.output is not None:
        body["response_format"] = write_format(request.output, losses)
    write_reasoning(request, body, profile, losses)
    write_stream(request, body, kept, profile)
    if request.extras:
        body.update(visible(kept))
        carry_extras(request.extras, DIALECT, body, losses)
    for name in profile.dropped_options & body.keys():
        del body[name]
        losses.add("option_dropped", canonical_path(name, request.extras), f"The model refuses {name}.")
    return Encoded(body=body, warnings=losses.taken(), names=names.names)


def _write_tools(
    request: ModelRequest, names: NameTable, profile: Profile, losses: Losses, cache: ToolCache | None
) -> JsonObject:
    """The members `tools` and `functions`, as far as there are such tools."""
    tools = request.tools
    if is_legacy(tools) or not profile.allowed_tools:  # two lists, or one that the choice may shorten
        cache = None
    if cache is None:
        written, functions = write_tools(tools, names, profile, losses) if tools else ([], [])
        return {name: value for name, value in (("tools", written), ("functions", functions)) if value}
    written = cache.write(
        tools, (DIALECT, profile), names, losses, lambda table, own: write_tools(tools, table, profile, own)[0]
    )
    return {"tools": written} if written else {}


def _write_choice(
    request: ModelRequest,
    body: JsonObject,
    names: NameTable,
    profile: Profile,
    freeform: frozenset[str],
    losses: Losses,
) -> None:
    choice = request.tool_choice
    has_tools = "tools" in body or "functions" in body
    if choice is not None and (has_tools or "_alone" in own_members(choice.private, DIALECT)):
        name = "function_call" if "_legacy" in own_members(choice.private, DIALECT) else "tool_choice"
        body[name] = write_choice(choice, names, profile, freeform, losses)
        is_named = choice.mode == "required" and len(choice.names) == 1
        if choice.names and choice.mode != "none" and not profile.allowed_tools and not is_named:
            _offer_only(body, {names.wire(name) for name in choice.names})
            losses.add("choice_approximated", "tool_choice", "Only the chosen tools are offered.")
    elif choice is not None and choice.mode != "auto":
        losses.add("option_dropped", "tool_choice", "There is no tool to choose.")
    if request.parallel_calls is not None and (has_tools or not request.tools):
        body["parallel_tool_calls"] = request.parallel_calls


def _offer_only(body: JsonObject, chosen: set[str]) -> None:
    tools = body.get("tools")
    if isinstance(tools, list):
        body["tools"] = [tool for tool in tools if _name_of(tool) in chosen]


def _name_of(tool: JsonValue) -> JsonValue:
    inner = tool.get(str(tool.get("type") or "function")) if isinstance(tool, dict) else None
    return inner.get("name") if isinstance(inner, dict) else None


class _MessagesWriter:
    """Writes the conversation, one wire message per speaker's turn."""

    def __init__(
        self, request: ModelRequest, names: NameTable, profile: Profile, freeform: frozenset[str], losses: Losses
    ) -> None:
        self._request = request
        self._profile = profile
        self._losses = losses
        self._ids = IdTable(profile.call_ids, losses)
        self._turns = TurnWriter(losses, profile=profile, names=names, ids=self._ids, freeform=freeform)
        self._names = names
        self._tool_names = names_by_id(request.items) if profile.tool_message_name else {}
        self._messages: list[JsonValue] = []
        self._media: list[JsonValue] = []
        self._may_be_silent = False

    def write(self) -> list[JsonValue]:
        self._write_instructions()
        messages = self._messages
        turn: JsonObject | None = None
        keeps_roles = self._profile.system_role is None
        for place, item in paired(self._request.items, self._losses):
            kind = type(item)
            if kind is ResultItem:
                turn = None
                self._write_result(item, f"items[{place}]")  # type: ignore[arg-type]
                continue
            if self._media:
                self._flush_media()
            if kind is Message:
                role, parts = item.role, item.parts  # type: ignore[union-attr]
                if role != "assistant":
                    turn = None
                    if keeps_roles and not item.private and _is_plain(parts):  # type: ignore[union-attr]
                        messages.append({"role": role, "content": parts[0].text})  # type: ignore[union-attr]
                    else:
                        self._write_message(item, f"items[{place}]")  # type: ignore[arg-type]
                    continue
            if turn is None or item.split:
                if kind is not CallItem and not (kind is Message and _is_plain(item.parts)):  # type: ignore[union-attr]
                    self._may_be_silent = True
                turn = {"role": "assistant", "content": None}
                messages.append(turn)
            self._turns.add(turn, item, f"items[{place}]")
        if self._media:
            self._flush_media()
        return self._finished()

    def _write_instructions(self) -> None:
        for part in self._request.instructions:
            note_foreign(part.private, DIALECT, "instructions", self._losses)
            self._messages.append({"role": self._profile.system_role or "system", "content": part.text})

    def _role(self, role: str, path: str) -> str:
        wanted = self._profile.system_role
        if wanted is None or role not in ("system", "developer") or role == wanted:
            return role
        self._losses.add("role_changed", path, f"{role} became {wanted}.")
        return wanted

    def _write_message(self, item: Message, path: str) -> None:
        note_foreign(item.private, DIALECT, path, self._losses)
        members = own_members(item.private, DIALECT)
        wire: JsonObject = {"role": self._role(item.role, path)}
        wire["content"] = self._content(item.parts, path, is_list="_list" in members, from_user=item.role == "user")
        if members:
            extra = visible(members)
            if self._profile.minimal_messages:
                extra = {name: value for name, value in extra.items() if name in _MINIMAL}
            wire.update(extra)
        self._messages.append(wire)

    def _content(self, parts: tuple[Part, ...], path: str, *, is_list: bool, from_user: bool) -> JsonValue:
        for part in parts:
            if isinstance(part, TextPart) and part.citations:
                self._losses.add("citation_dropped", path, "A citation has no place here.")
        content = write_parts(parts, path, self._losses, from_user=from_user)
        if is_list and not self._profile.flat_text:
            return content
        texts = [part["text"] for part in content if isinstance(part, dict) and part.keys() == {"type", "text"}]
        if len(texts) == len(content) and (len(texts) < 2 or self._profile.flat_text):
            return "\n\n".join(str(text) for text in texts)
        return content

    def _write_result(self, item: ResultItem, path: str) -> None:
        if item.failed and item.text != MISSING_RESULT:
            self._losses.add("failure_unmarked", path, f"The call {item.call_id!r} failed.")
        if not item.private and not self._tool_names and _is_plain(item.parts):
            text = item.parts[0].text  # type: ignore[union-attr]
            self._messages.append({"role": "tool", "tool_call_id": self._ids.result(item.call_id), "content": text})
            return
        note_foreign(item.private, DIALECT, path, self._losses)
        members = own_members(item.private, DIALECT)
        parts = item.parts
        if len(parts) == 1 and type(parts[0]) is TextPart and not parts[0].private and "_list" not in members:
            content: JsonValue = parts[0].text
        else:
            content = self._result_content(item, path, is_list="_list" in members)
        call_id = self._ids.result(item.call_id)
        if "_legacy" in members:
            self._messages.append(
                {"role": "function", "name": self._names.wire(item.name, path), "content": content, **visible(members)}
            )
            return
        wire: JsonObject = {"role": "tool", "tool_call_id": call_id, "content": content}
        name = item.name if "_name" in members else self._tool_names.get(item.call_id)
        if name:
            wire["name"] = self._names.wire(name, path)
        if members and not self._profile.minimal_messages:
            wire.update(visible(members))
        self._messages.append(wire)

    def _result_content(self, item: ResultItem, path: str, *, is_list: bool) -> JsonValue:
        """Text stays; media that the sender did not put here himself go into a message of the user behind."""
        parts: list[Part] = []
        for part in item.parts:
            if isinstance(part, MediaPart) and "_type" not in own_members(part.private, DIALECT):
                media = write_media(part, from_user=True)
                if media is not None:
                    self._losses.add("media_moved", path, f"{part.media_type} follows in a user message.")
                    self._media += [{"type": "text", "text": f"From the result of {item.call_id}:"}, media]
                    parts.append(TextPart(text=media_note(part, "follows below")))
                    continue
            parts.append(part)
        return self._content(tuple(parts), path, is_list=is_list, from_user=False)

    def _flush_media(self) -> None:
        self._messages.append({"role": "user", "content": self._media})
        self._media = []

    def _finished(self) -> list[JsonValue]:
        profile = self._profile
        if self._may_be_silent:
            self._messages = [message for message in self._messages if not _is_silent(message)]
        if profile.empty_content == "empty" or profile.requires_reasoning_content:
            for message in self._messages:
                if isinstance(message, dict) and message["role"] == "assistant":
                    if profile.requires_reasoning_content and message.get("reasoning_content") is None:
                        message["reasoning_content"] = message.pop("reasoning", None) or ""
                    if profile.empty_content == "empty" and message["content"] is None:
                        message["content"] = ""
        return _merged(self._messages) if profile.merge_same_role else self._messages


def _is_plain(parts: tuple[Part, ...]) -> bool:
    if len(parts) != 1:
        return False
    part = parts[0]
    return type(part) is TextPart and not part.private and not part.citations


def _is_silent(message: JsonValue) -> bool:
    """A turn of which nothing is left, as when it was another provider's reasoning: servers refuse it."""
    return (
        isinstance(message, dict)
        and len(message) == 2
        and message["role"] == "assistant"
        and not message["content"]
        and message["content"] != ""
    )


def _merged(messages: list[JsonValue]) -> list[JsonValue]:
    """Neighbours with the same role as one message."""
    merged: list[JsonValue] = []
    for message in messages:
        before = merged[-1] if merged else None
        if (
            isinstance(before, dict)
            and isinstance(message, dict)
            and before["role"] == message["role"]
            and message["role"] in _MERGED
            and "tool_calls" not in before
        ):
            content = _joined(before.get("content"), message.get("content"))
            merged[-1] = {**before, **message, "content": content}
        else:
            merged.append(message)
    return merged


def _joined(first: JsonValue, second: JsonValue) -> JsonValue:
    if not first or not second:
        return first or second
    if isinstance(first, str) and isinstance(second, str):
        return f"{first}\n\n{second}"
    return [*_as_list(first), *_as_list(second)]


def _as_list(content: JsonValue) -> list[JsonValue]:
    return content if isinstance(content, list) else [{"type": "text", "text": content}]
