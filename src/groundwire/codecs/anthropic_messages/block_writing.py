"""Canonical parts and items as content blocks.

What the dialect cannot say becomes a note in words or is left out, and in both cases told in the losses.
"""

from collections.abc import Iterable

from groundwire.codecs.anthropic_messages.profile import DIALECT, Profile
from groundwire.codecs.wire.ids import IdTable
from groundwire.codecs.wire.media import encode_base64, media_kind, media_note
from groundwire.codecs.wire.names import NameTable
from groundwire.codecs.wire.private import give_back, take_own
from groundwire.codecs.wire.results import arguments_fragment, object_arguments, wrap_arguments
from groundwire.codecs.wire.warnings import Losses
from groundwire.contracts.canonical import JsonObject
from groundwire.contracts.messages import (
    CallItem,
    Citation,
    MediaPart,
    Part,
    ReasoningItem,
    RefusalPart,
    ResultItem,
    TextPart,
)

_IMAGES = frozenset({"image/jpeg", "image/png", "image/gif", "image/webp"})
_TEXT_TYPES = frozenset({"application/json", "application/xml", "application/yaml", "application/x-yaml"})
_PDF_BY_ADDRESS = frozenset({"application/pdf", "application/*", "application/octet-stream"})


class BlockWriter:
    """Writes the blocks of one request: its names and ids are the conversation's."""

    def __init__(
        self,
        profile: Profile,
        names: NameTable,
        ids: IdTable,
        losses: Losses,
        freeform: Iterable[str],
        *,
        fragments: bool = False,
    ) -> None:
        self._arguments_of = arguments_fragment if fragments else object_arguments
        self._profile = profile
        self._names = names
        self._ids = ids
        self._losses = losses
        self._freeform = frozenset(freeform)

    def parts(self, parts: tuple[Part, ...], speaker: str, path: str) -> list[JsonObject]:
        """The blocks of a message or a result. `speaker` decides what may be said: user, assistant, system or tool."""
        blocks: list[JsonObject] = []
        for part in parts:
            if type(part) is TextPart and not part.private and not part.citations:
                if part.text and not part.text.isspace():
                    blocks.append({"type": "text", "text": part.text})
                else:
                    self._losses.add("empty_text_dropped", path, "Texts must not be empty.")
                continue
            block = self._part(part, speaker, path)
            if block is not None:
                blocks.append(block)
        return blocks

    def _part(self, part: Part, speaker: str, path: str) -> JsonObject | None:
        if isinstance(part, (TextPart, RefusalPart)):
            if not part.text or part.text.isspace():
                self._losses.add("empty_text_dropped", path, "Texts must not be empty.")
                return None
            return (
                self._text(part, speaker, path) if isinstance(part, TextPart) else {"type": "text", "text": part.text}
            )
        if isinstance(part, MediaPart):
            return self._media(part, speaker, path)
        if part.origin == DIALECT:
            return part.value
        self._losses.add("native_dropped", path, f"A part that only {part.origin} understands was left out.")
        return None

    def _text(self, part: TextPart, speaker: str, path: str) -> JsonObject:
        block: JsonObject = {"type": "text", "text": part.text}
        if part.citations:
            listed = [own for citation in part.citations if (own := citation.private.get(DIALECT)) is not None]
            if speaker != "assistant" and self._profile.version != "2023-06-01":
                listed = []
            if len(listed) < len(part.citations):
                self._losses.add("citation_dropped", path, "Only the provider's own citations can be sent back to it.")
            if listed:
                block["citations"] = list(listed)
        return give_back(block, take_own(part.private, DIALECT, path, self._losses))

    def _media(self, part: MediaPart, speaker: str, path: str) -> JsonObject:
        own = take_own(part.private, DIALECT, path, self._losses)
        if part.detail not in (None, "auto"):
            self._losses.add("option_dropped", path, f"An image cannot be looked at with the detail {part.detail!r}.")
        source = None
        if speaker in ("user", "tool") or (speaker == "assistant" and self._profile.version == "2023-06-01"):
            source = _source(part, own)
        if source is None:
            self._losses.add("media_dropped", path, f"{part.media_type} cannot be sent here.")
            return {"type": "text", "text": media_note(part)}
        rest = own.get("_source")
        if isinstance(rest, dict):
            source.update(rest)
        is_image = media_kind(part.media_type) == "image"
        block: JsonObject = {"type": "image" if is_image else "document", "source": source}
        if part.name is not None and not is_image:
            block["title"] = part.name
        return give_back(block, own)

    def call(self, item: CallItem, path: str) -> JsonObject:
        call = item.call
        arguments = call.arguments if call.arguments is not None else self._arguments_of(call.raw)
        if arguments is None:
            if call.name in self._freeform:
                arguments = {"input": call.raw}
            else:
                arguments = wrap_arguments(call.raw)
                self._losses.add("arguments_not_object", path, "The arguments are no JSON object.")
        block: JsonObject = {
            "type": "tool_use",
            "id": self._ids.call(call.call_id, path),
            "name": self._names.wire(call.name, path),
            "input": arguments,
        }
        return give_back(block, take_own(item.private, DIALECT, path, self._losses)) if item.private else block

    def result(self, item: ResultItem, path: str) -> JsonObject:
        block: JsonObject = {"type": "tool_result", "tool_use_id": self._ids.result(item.call_id)}
        own = take_own(item.private, DIALECT, path, self._losses)
        parts = item.parts
        if len(parts) == 1 and type(parts[0]) is TextPart and not parts[0].private and "_blocks" not in own:
            block["content"] = parts[0].text
        elif parts or "_blocks" in own:
            block["content"] = list(self.parts(parts, "tool", path))
        if item.failed:
            block["is_error"] = True
        elif "_is_error" in own:
            block["is_error"] = False
        return give_back(block, own) if own else block

    def reasoning(self, item: ReasoningItem, path: str) -> JsonObject | None:
        """Only what the provider signed goes back to it: anything else would be refused."""
        own = take_own(item.private, DIALECT, path, self._losses)
        if own.get("_redacted"):
            return give_back({"type": "redacted_thinking"}, own)
        if not own.get("signature"):
            self._losses.add("reasoning_dropped", path, "Reasoning without Anthropic's signature was left out.")
            return None
        return give_back({"type": "thinking", "thinking": item.text}, own)


def _source(part: MediaPart, own: JsonObject) -> JsonObject | None:
    """Where the bytes are, as far as the API takes this kind of media; None if it does not."""
    media_type = "image/jpeg" if part.media_type == "image/jpg" else part.media_type.lower()
    kind = media_kind(media_type)
    if part.file_id is not None and (part.file_id.startswith("file_") or "_file" in own):
        return {"type": "file", "file_id": part.file_id} if kind in ("image", "file") else None
    if part.data is not None:
        if media_type in _IMAGES or media_type == "application/pdf" or "_base64" in own:
            return {"type": "base64", "media_type": media_type, "data": encode_base64(part.data)}
        if media_type.startswith("text/") or media_type in _TEXT_TYPES or media_type.endswith("+json"):
            return _text_source(part.data)
        return None
    if part.url is not None and part.url.startswith(("http://", "https://")):
        is_taken = kind == "image" or media_type in _PDF_BY_ADDRESS
        return {"type": "url", "url": part.url} if is_taken else None
    return None


def _text_source(data: bytes) -> JsonObject | None:
    try:
        return {"type": "text", "media_type": "text/plain", "data": data.decode()}
    except UnicodeDecodeError:
        return None


def write_citation(citation: Citation) -> JsonObject | None:
    """For a client: ours as it came, another provider's as a search result if it has an address."""
    own = citation.private.get(DIALECT)
    if own is not None:
        return own
    if citation.url is None:
        return None
    return {
        "type": "web_search_result_location",
        "cited_text": citation.quote or "",
        "url": citation.url,
        "title": citation.title,
        "encrypted_index": "",
    }
