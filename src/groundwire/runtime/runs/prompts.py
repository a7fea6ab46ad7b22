"""What a run is given, from Python's own terms: words and files as a message, types as the form of an answer."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

import msgspec
from msgspec import Struct

from groundwire.contracts.canonical import JsonObject, dump_json
from groundwire.contracts.errors import ConfigError
from groundwire.contracts.messages import Item, MediaPart, Message, Part, TextPart
from groundwire.contracts.requests import OutputFormat

T = TypeVar("T", bound=Struct)
Prompt: TypeAlias = str | Part | Message | Sequence[str | Part] | None


def read_prompt(prompt: Prompt, turn: int) -> Message | None:
    """The user's message in that turn: words, parts, or a message that is one already."""
    if prompt is None:
        return None
    if isinstance(prompt, Message):
        if prompt.role != "user":
            hint = "what others said belongs into the history"
            raise ConfigError(f"a prompt is what the user says, not the {prompt.role}", hint=hint)
        return _checked_prompt(msgspec.structs.replace(prompt, turn=turn))
    if isinstance(prompt, (bytes, bytearray)):
        raise ConfigError("a prompt is text, not bytes", hint='data.decode(), or attach(data, "image/png")')
    listed = [prompt] if isinstance(prompt, str) or not isinstance(prompt, Sequence) else prompt
    parts = tuple(TextPart(text=part) if isinstance(part, str) else part for part in listed)
    for part in parts:
        if not isinstance(part, Part):
            raise ConfigError(f"a prompt cannot hold {part!r}", hint="text, attach(…), or a list of them")
    return _checked_prompt(Message(role="user", parts=parts, turn=turn))


def _checked_prompt(message: Message) -> Message:
    checked_item(message, "the prompt")
    if all(isinstance(part, TextPart) and not part.text.strip() for part in message.parts):
        raise ConfigError("the prompt says nothing", hint='agent.run("…")')
    return message


def read_history(history: Iterable[Item] | None) -> tuple[Item, ...]:
    if history is not None and not isinstance(history, Iterable):
        raise ConfigError(f"a history cannot be {history!r}", hint="result.history, or a list of items")
    items = tuple(history or ())
    for item in items:
        if not isinstance(item, Item):
            raise ConfigError(f"a history cannot hold {item!r}", hint='items of a result, or say("user", "…")')
        checked_item(item, "the history")
    return items


def checked_item(item: T, where: str) -> T:
    """The item, if it can be stored and read again. Python does not look at the values that things are made of."""
    try:
        msgspec.json.decode(msgspec.json.encode(item), type=type(item))
    except UnicodeEncodeError:
        raise ConfigError(f"{where} holds half a character, which no text can") from None
    except (msgspec.MsgspecError, TypeError, ValueError, RecursionError) as error:
        raise ConfigError(f"{where} cannot be stored: {error}") from None
    return item


def say_for_user(words: str) -> Message:
    """What we ask in the user's place. Nobody said it, so it proves nothing; the mark is for us and is never sent."""
    return Message(role="user", parts=(TextPart(text=words),), private={"groundwire": {"_added": True}})


def was_said(message: Message) -> bool:
    """Whether somebody really said it."""
    return "_added" not in message.private.get("groundwire", ())


def attach(source: str | Path | bytes, media_type: str = "", *, name: str | None = None) -> MediaPart:
    """An image, a sound or a file for a prompt: by its bytes, its path, or its address on the web."""
    from mimetypes import guess_type  # a table of its own that few agents need

    if isinstance(source, str) and source.startswith(("https://", "http://")):
        return MediaPart(media_type=media_type or guess_type(source)[0] or "image/*", url=source, name=name)
    if isinstance(source, bytes):
        if not media_type:
            raise ConfigError("bytes need their media type", hint='attach(data, "image/png")')
        return MediaPart(media_type=media_type, data=source, name=name)
    if not isinstance(source, (str, Path)):
        raise ConfigError(f"{source!r} cannot be attached", hint="a path, an address, or bytes with their media type")
    file = Path(source)
    try:
        data = file.read_bytes()
    except OSError as error:
        raise ConfigError(f"{file} cannot be read: {error.strerror}") from None
    except ValueError as error:
        raise ConfigError(f"{source!r} is no path: {error}") from None
    kind = media_type or guess_type(file.name)[0] or "application/octet-stream"
    return MediaPart(media_type=kind, data=data, name=name or file.name)


def output_format(output: Any) -> OutputFormat | None:
    """The form of an answer: a JSON Schema, or a type (msgspec, dataclass, pydantic) that has one."""
    if output is None or isinstance(output, OutputFormat):
        return output
    if isinstance(output, dict):
        schema: JsonObject = output
    elif hasattr(output, "model_json_schema"):
        schema = output.model_json_schema()
    else:
        schema = _schema_of(output)
    return OutputFormat(type="schema", schema=schema, name=getattr(output, "__name__", "answer"))


def _schema_of(kind: Any) -> JsonObject:
    try:
        schema = msgspec.json.schema(kind)
    except TypeError:
        hint = "a dataclass, a msgspec Struct, a pydantic model or a JSON Schema"
        raise ConfigError(f"the form of an answer cannot be {kind!r}", hint=hint) from None
    reference = schema.pop("$ref", "")
    if not reference:
        return schema
    definitions = schema["$defs"]
    name = reference.rpartition("/")[2]
    root: JsonObject = definitions[name]
    if reference not in dump_json(definitions).decode():  # a type that holds itself refers to its own definition
        del definitions[name]
    return {**root, "$defs": definitions} if definitions else root
