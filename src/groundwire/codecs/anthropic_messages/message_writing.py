"""The conversation as the `system` and `messages` members: who speaks when, and the order the API insists on.

Calls and results are in pairs already when they come here; what the blocks look like is `block_writing`'s business.
"""

from collections.abc import Iterable, Sequence

from groundwire.codecs.anthropic_messages.block_writing import BlockWriter
from groundwire.codecs.anthropic_messages.profile import DIALECT, Profile
from groundwire.codecs.wire.pairing import BEGINNING
from groundwire.codecs.wire.private import note_foreign, own_members
from groundwire.codecs.wire.warnings import Losses
from groundwire.contracts.canonical import JsonObject, JsonValue
from groundwire.contracts.messages import CallItem, Item, Message, NativeItem, ReasoningItem, ResultItem, TextPart

_CONTINUE = "Continue."
_SYSTEM_ROLES = frozenset({"system", "developer"})
_NO_MEMBERS: JsonObject = {}
_THOUGHTS = frozenset({"thinking", "redacted_thinking"})


def leading_instructions(items: Sequence[Item]) -> int:
    """How many items at the beginning are system messages: they belong to the top-level prompt."""
    count = 0
    for item in items:
        if not isinstance(item, Message) or item.role not in _SYSTEM_ROLES:
            break
        count += 1
    return count


def write_system(instructions: tuple[TextPart, ...], leading: Sequence[Item], blocks: BlockWriter) -> JsonValue:
    """A string for one plain text, else blocks; None for no prompt."""
    written = blocks.parts(instructions, "system", "instructions")
    for place, item in enumerate(leading):
        if isinstance(item, Message):
            written.extend(blocks.parts(item.parts, "system", f"items[{place}]"))
    if not written:
        return None
    is_noted = bool(instructions) and "_blocks" in own_members(instructions[0].private, DIALECT)
    if len(written) == 1 and not is_noted and written[0].keys() == {"type", "text"}:
        return written[0]["text"]
    return list(written)


class MessageWriter:
    """Gathers items into messages: one for all that neighbours of the same speaker say, unless an item is split off."""

    def __init__(self, blocks: BlockWriter, profile: Profile, losses: Losses) -> None:
        self._blocks = blocks
        self._profile = profile
        self._losses = losses
        self._messages: list[JsonObject] = []
        self._speaker = ""
        self._content: list[JsonObject] = []
        self._members: JsonObject = {}
        self._is_string = False

    def write(self, items: Iterable[tuple[int, Item]]) -> list[JsonObject]:
        """Each item comes with its place in the request, for the paths of losses."""
        after_result = False
        for place, item in items:
            is_result = isinstance(item, ResultItem)
            speaker = self._speaker_of(item, place)
            # All results of a step must stand in one message, however the sender divided them.
            if speaker != self._speaker or (item.split and not (is_result and after_result)):
                self._flush()
                self._speaker = speaker
                self._begin(item)
            elif self._is_string:
                self._is_string = False
            plain = _plain_text(item, speaker)
            if plain is None:
                self._add(item, speaker, f"items[{place}]")
            else:
                self._content.append({"type": "text", "text": plain})
            after_result = is_result
        self._flush()
        return self._finished()

    def _speaker_of(self, item: Item, place: int) -> str:
        if type(item) is ResultItem:
            return "user"
        if not isinstance(item, Message):
            return "assistant"
        role = item.role
        if role in ("user", "assistant"):
            return role
        if role in _SYSTEM_ROLES and self._profile.allows_system_messages:
            return "system"
        self._losses.add("role_changed", f"items[{place}]", f"A {role} message was sent as the user's.")
        return "user"

    def _begin(self, item: Item) -> None:
        if isinstance(item, NativeItem) or not item.private:
            self._members, self._is_string = _NO_MEMBERS, False
            return
        own = item.private.get(DIALECT, _NO_MEMBERS)
        members = own.get("_message")
        self._members = members if isinstance(members, dict) else _NO_MEMBERS
        self._is_string = "_string" in own

    def _add(self, item: Item, speaker: str, path: str) -> None:
        content = self._content
        if isinstance(item, Message):
            note_foreign(item.private, DIALECT, path, self._losses)
            written = self._blocks.parts(item.parts, speaker, path)
            if speaker == "user" and item.role in _SYSTEM_ROLES:
                written = [_as_system_text(block) for block in written]
            content.extend(written)
        elif isinstance(item, CallItem):
            content.append(self._blocks.call(item, path))
        elif isinstance(item, ResultItem):
            content.append(self._blocks.result(item, path))
        elif isinstance(item, ReasoningItem):
            block = self._blocks.reasoning(item, path)
            if block is not None:
                content.append(block)
        elif item.origin == DIALECT:
            content.append(item.value)
        else:
            self._losses.add("native_dropped", path, f"An entry that only {item.origin} understands was left out.")

    def _flush(self) -> None:
        content = self._content
        if content:
            is_string = self._is_string and len(content) == 1 and content[0].keys() == {"type", "text"}
            message: JsonObject = {
                "role": self._speaker,
                "content": content[0]["text"] if is_string else content,  # type: ignore[dict-item]
            }
            if self._members:
                message.update(self._members)
            self._messages.append(message)
            self._content = []

    def _finished(self) -> list[JsonObject]:
        """The conversation begins with the user, and ends in a way that the model can go on from."""
        messages = self._messages
        if not messages or messages[0]["role"] != "user":
            messages.insert(0, _user(BEGINNING))
            self._losses.add("placeholder_added", "items", "A conversation begins with the user.")
        last = messages[-1]
        if last["role"] == "assistant" and not _is_paused(last):
            if not self._profile.allows_prefill:
                messages.append(_user(_CONTINUE))
                self._losses.add("placeholder_added", "items", "This model does not go on from its own words.")
            else:
                self._trim(last)
        return messages

    def _trim(self, message: JsonObject) -> None:
        """Cut whitespace behind the last text."""
        content = message["content"]
        text = content if isinstance(content, str) else None
        if isinstance(content, list) and isinstance(content[-1], dict) and content[-1].get("type") == "text":
            text = str(content[-1]["text"])
        if text is None or text == text.rstrip():
            return
        self._losses.add("empty_text_dropped", "items", "Whitespace at the end of the last text was cut.")
        if isinstance(content, list) and isinstance(content[-1], dict):
            message["content"] = [*content[:-1], {**content[-1], "text": text.rstrip()}]
        else:
            message["content"] = text.rstrip()


def _plain_text(item: Item, speaker: str) -> str | None:
    """The text of a message that is nothing but text, which most are; None for any other item."""
    if type(item) is not Message or len(item.parts) != 1 or item.role != speaker or item.private:
        return None
    part = item.parts[0]
    if type(part) is not TextPart or part.private or part.citations or not part.text or part.text.isspace():
        return None
    return part.text


def _as_system_text(block: JsonObject) -> JsonObject:
    return {**block, "text": f"<system>{block['text']}</system>"} if block.get("type") == "text" else block


def _user(text: str) -> JsonObject:
    return {"role": "user", "content": [{"type": "text", "text": text}]}


def _is_paused(message: JsonObject) -> bool:
    """A turn in which the provider's own tools ran may be sent back as it is, to be continued."""
    content = message["content"]
    return isinstance(content, list) and any(
        isinstance(block, dict) and str(block.get("type")).startswith(("server_tool", "mcp_tool")) for block in content
    )


def continues_without_thinking(messages: list[JsonObject]) -> bool:
    """Whether results are handed in to a turn of the model that has no thoughts in it: thinking must then be off."""
    steps = 0
    for message in reversed(messages):
        types = _types(message)
        if message["role"] == "assistant":
            if not _THOUGHTS.isdisjoint(types):
                return False
            steps += 1
        elif "tool_result" not in types:
            break
    return steps > 0 and "tool_result" in _types(messages[-1])


def _types(message: JsonObject) -> set[JsonValue]:
    content = message["content"]
    return {block.get("type") for block in content if isinstance(block, dict)} if isinstance(content, list) else set()
