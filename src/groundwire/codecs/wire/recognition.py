"""What tells the dialects' requests, answers and streams apart, so that a body sent to the wrong address is named for what it is.

Knows the names of members and blocks that one dialect has and another never had. Anything else that is unknown is none
of its business: the dialects let it pass.
"""

from collections.abc import Iterator

from groundwire.codecs.wire.json import read_object
from groundwire.codecs.wire.sse import SseReader
from groundwire.contracts.canonical import JsonObject, JsonValue
from groundwire.contracts.errors import WireError
from groundwire.contracts.requests import Dialect

_CONVERSATIONS: tuple[tuple[str, Dialect], ...] = (
    ("contents", "gemini"),
    ("input", "openai-responses"),
    ("messages", "openai-chat"),
)
_BLOCKS: dict[str, Dialect] = {
    "image_url": "openai-chat",
    "input_audio": "openai-chat",
    "input_image": "openai-responses",
    "input_text": "openai-responses",
    "output_text": "openai-responses",
    "tool_result": "anthropic",
    "tool_use": "anthropic",
}


_ANSWERS: tuple[tuple[str, Dialect], ...] = (
    ("candidates", "gemini"),
    ("usageMetadata", "gemini"),
    ("choices", "openai-chat"),
    ("stop_reason", "anthropic"),
    ("output", "openai-responses"),
)
_FIRST_EVENTS = 4
"""So many events are looked at: some servers begin with one that says nothing."""


def answered_by(body: JsonObject) -> Dialect | None:
    """The dialect whose response this seems to be."""
    return next((owner for member, owner in _ANSWERS if member in body), None)


def streamed_by(data: bytes) -> Dialect | None:
    """The dialect of whose stream these seem to be the server-sent events."""
    reader = SseReader()
    for event in (reader.feed(data) + reader.finish())[:_FIRST_EVENTS]:
        try:
            piece = read_object(event.data)
        except WireError:
            continue
        kind = piece.get("type")
        if kind == "message_start":
            return "anthropic"
        if isinstance(kind, str) and kind.startswith("response."):
            return "openai-responses"
        if (owner := answered_by(piece)) is not None:
            return owner
    return None


def looks_like(body: JsonObject) -> Dialect | None:
    """The dialect whose request this seems to be."""
    for _, owner in _signs(body):
        return owner
    return next((owner for member, owner in _CONVERSATIONS if member in body), None)


def require(body: JsonObject, member: str, dialect: str) -> None:
    """Raise for a body without the one member that all requests of the dialect have."""
    if body.get(member) is None:
        owner = looks_like(body)
        meant = f"; the body looks like a request of {owner}" if owner not in (None, dialect) else ""
        raise WireError(f"is missing{meant}", path=member)


def refuse_foreign(body: JsonObject, dialect: str) -> None:
    """Raise for a body that has what only requests of another dialect with `messages` have."""
    for path, owner in _signs(body):
        if owner != dialect:
            raise WireError(f"this belongs to requests of {owner}, not of {dialect}", path=path)


def refuse_foreign_tool(tool: JsonObject, path: str, dialect: str) -> None:
    """The same for one tool, where tools are read on their own."""
    for place, owner in _signs_of_tool(tool, path):
        if owner != dialect:
            raise WireError(f"this belongs to requests of {owner}, not of {dialect}", path=place)


def _signs(body: JsonObject) -> Iterator[tuple[str, Dialect]]:
    """The places in a body with `messages` that only one dialect has, and whose they are."""
    messages = body.get("messages")
    if not isinstance(messages, list):
        return
    if body.get("system"):
        yield "system", "anthropic"
    tools = body.get("tools")
    for place, tool in enumerate(tools if isinstance(tools, list) else ()):
        if isinstance(tool, dict):
            yield from _signs_of_tool(tool, f"tools[{place}]")
    for place, message in enumerate(messages):
        if type(message) is dict:
            if message.get("tool_calls"):
                yield f"messages[{place}].tool_calls", "openai-chat"
            elif message.get("role") == "tool":
                yield f"messages[{place}].role", "openai-chat"
            content = message.get("content")
            if type(content) is list:
                yield from _signs_of_content(content, f"messages[{place}].content")


def _signs_of_tool(tool: JsonObject, path: str) -> Iterator[tuple[str, Dialect]]:
    if "input_schema" in tool:
        yield f"{path}.input_schema", "anthropic"
    elif isinstance(tool.get("function"), dict):
        yield f"{path}.function", "openai-chat"


def _signs_of_content(content: list[JsonValue], path: str) -> Iterator[tuple[str, Dialect]]:
    for place, block in enumerate(content):
        kind = block.get("type") if type(block) is dict else None
        if type(kind) is str and kind in _BLOCKS:
            yield f"{path}[{place}].type", _BLOCKS[kind]
