"""Recorded traffic for tests, and what two conversations must have in common to mean the same."""

import base64
import json
import re
from pathlib import Path
from typing import Any

from groundwire.contracts.canonical import parse_json
from groundwire.contracts.messages import CallItem, Item, MediaPart, Message, ReasoningItem, ResultItem, TextPart

FIXTURES = Path(__file__).parent / "fixtures"
DIALECT_OF = {
    "openai-chat": "openai-chat",
    "openai-responses": "openai-responses",
    "anthropic-messages": "anthropic",
    "gemini": "gemini",
}


def recordings(*, stream: bool | None = None) -> list[tuple[str, str]]:
    """(dialect, file) of every recording, or only of the streamed or unstreamed ones."""
    found = []
    for api, dialect in DIALECT_OF.items():
        for path in sorted((FIXTURES / api).glob("*.json")):
            if stream is None or json.loads(path.read_bytes())["stream"] is stream:
                found.append((dialect, f"{api}/{path.name}"))
    return found


def load(file: str) -> dict[str, Any]:
    return json.loads((FIXTURES / file).read_bytes())


_SNAKE = re.compile(r"_([a-z])")
_VERBATIM = {"args", "response", "parameters", "parametersJsonSchema", "responseJsonSchema", "responseSchema"}


def plain(value: Any, *, camel: bool = False) -> Any:
    """The value without what may differ: nulls, the alphabet of base64, and for Gemini the case of member names."""
    if isinstance(value, dict):
        made = {}
        for key, item in value.items():
            name = _SNAKE.sub(lambda found: found[1].upper(), key) if camel else key
            if item is not None:
                made[name] = item if camel and name in _VERBATIM else plain(item, camel=camel)
        for key in ("thoughtSignature", "data"):
            if camel and isinstance(made.get(key), str):
                made[key] = made[key].replace("-", "+").replace("_", "/")
        return made
    if isinstance(value, list):
        return [plain(item, camel=camel) for item in value]
    return value


def essence(items: tuple[Item, ...], instructions: tuple[TextPart, ...] = ()) -> list[tuple[Any, ...]]:
    """What a conversation says and does, in order: texts by speaker, calls, results, media. Reasoning is left out."""
    facts: list[tuple[Any, ...]] = []
    for part in instructions:
        _say(facts, "system", part.text)
    for item in items:
        if isinstance(item, Message):
            speaker = "system" if item.role == "developer" else item.role
            for part in item.parts:
                if isinstance(part, MediaPart):
                    facts.append(("media", speaker, _media(part)))
                elif hasattr(part, "text"):
                    _say(facts, speaker, part.text)
        elif isinstance(item, CallItem):
            facts.append(("call", item.call.call_id, item.call.name, parse_json(item.call.raw)))
        elif isinstance(item, ResultItem):
            facts.append(("result", item.call_id, _value(item.text)))
            facts.extend(("media", "result", _media(part)) for part in item.parts if isinstance(part, MediaPart))
        else:
            assert isinstance(item, ReasoningItem) or item.kind == "native"
    return facts


def _say(facts: list[tuple[Any, ...]], speaker: str, text: str) -> None:
    if facts and facts[-1][:2] == ("text", speaker):
        facts[-1] = ("text", speaker, facts[-1][2] + text)
    elif text:
        facts.append(("text", speaker, text))


def _media(part: MediaPart) -> tuple[Any, ...]:
    data = base64.b64encode(part.data).decode() if part.data is not None else None
    return (part.media_type.partition("/")[0], data, part.url, part.file_id)


def _value(text: str) -> Any:
    try:
        return parse_json(text)
    except Exception:  # noqa: BLE001 - any text that is no JSON is compared as it is
        return text
