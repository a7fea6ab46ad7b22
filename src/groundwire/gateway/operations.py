"""The model endpoints as OpenAPI describes them: what their decoders insist on, and the frame of what they answer.

Everything else that a dialect's clients send is taken too, so schemas name what is checked and leave the rest open.
"""

from collections.abc import Iterable
from typing import Any

from msgspec.structs import replace

from groundwire.contracts.canonical import JsonObject
from groundwire.contracts.requests import Dialect
from groundwire.providers.catalogue import Catalogue
from groundwire.serving.openapi import Operation

_JSON = "application/json"
_SSE = "text/event-stream"
_TEXT: JsonObject = {"type": "string"}
_NAME: JsonObject = {"type": "string", "minLength": 1}
_NULL: JsonObject = {"type": "null"}
_MAYBE_TEXT: JsonObject = {"type": ["string", "null"]}
_SWITCH: JsonObject = {"type": ["boolean", "null"]}
_LOOSE_LIST: JsonObject = {"type": ["array", "null"], "items": {"type": "object"}}


def _object(properties: JsonObject, required: Iterable[str] = ()) -> JsonObject:
    return {"type": "object", "properties": properties, "required": [*required]}


def _list(items: JsonObject) -> JsonObject:
    return {"type": "array", "items": items}


def _any(*shapes: JsonObject) -> JsonObject:
    return {"anyOf": [*shapes]}


_WORDS = _object({"message": _TEXT, "type": _TEXT}, ["message", "type"])
_ERRORS: dict[Dialect, JsonObject] = {
    "openai-chat": _object({"error": _WORDS}, ["error"]),
    "openai-responses": _object({"error": _WORDS}, ["error"]),
    "anthropic": _object(
        {"type": {"const": "error"}, "error": _WORDS, "request_id": _TEXT}, ["type", "error", "request_id"]
    ),
    "gemini": _object(
        {"error": _object({"code": {"type": "integer"}, "message": _TEXT, "status": _TEXT}, ["code", "message"])},
        ["error"],
    ),
}
_ANSWERS: dict[str, JsonObject] = {
    "chat": _object(
        {
            "id": _TEXT,
            "object": {"const": "chat.completion"},
            "choices": {"type": "array", "items": {"type": "object"}},
        },
        ["id", "object", "choices", "model"],
    ),
    "response": _object(
        {"id": _TEXT, "object": {"const": "response"}, "output": {"type": "array", "items": {"type": "object"}}},
        ["id", "object", "output", "status", "model"],
    ),
    "message": _object(
        {"id": _TEXT, "type": {"const": "message"}, "content": {"type": "array", "items": {"type": "object"}}},
        ["id", "type", "role", "content", "model", "usage"],
    ),
    "generated": _object({"candidates": {"type": "array", "items": {"type": "object"}}}, ["candidates"]),
}
_COUNT = _object({"input_tokens": {"type": "integer"}}, ["input_tokens"])
_STATUSES = (400, 401, 402, 403, 404, 408, 409, 413, 422, 429, 500, 502, 503, 504, 529)


def _operation(
    method: str, path: str, name: str, summary: str, dialect: Dialect, answers: Any, body: JsonObject | None = None
) -> Operation:
    error = _ERRORS[dialect]
    if path.endswith(":streamGenerateContent"):
        error = {"anyOf": [error, {"type": "array", "items": error}]}
    failures = {status: {_JSON: error} for status in _STATUSES}
    return Operation(
        method=method,
        path=path,
        name=name,
        summary=summary,
        tag="models",
        body=body,
        answers={200: answers, **failures},
        request_id_header="request-id" if dialect == "anthropic" else "x-request-id",
    )


def _bodies(catalogue: Catalogue) -> dict[str, JsonObject]:
    """What is asked for, by dialect. Parts of unknown types are passed on."""
    names = dict.fromkeys(name for entry in catalogue.usable() for name in (entry.id, *entry.aliases))
    model: JsonObject = _NAME if catalogue.default_provider else {"enum": [*names]}
    part = _object({"type": _TEXT}, ["type"])
    parts: JsonObject = {"type": "array", "items": part}
    turn = _object({"role": _MAYBE_TEXT, "parts": {"type": ["array", "null"], "items": _object({"text": _MAYBE_TEXT})}})
    said = _object({"role": _TEXT, "content": _any(_TEXT, _NULL, _list(_any(_TEXT, part)))}, ["role"])
    spoken = _object({"role": _TEXT, "content": _any(_TEXT, parts)}, ["role", "content"])
    item = _any(part, _object({"role": _TEXT, "content": _any(_TEXT, parts)}, ["role", "content"]))
    limit: JsonObject = {"type": ["integer", "null"]}
    talk: JsonObject = {"model": model, "messages": _list(spoken), "max_tokens": limit, "stream": _SWITCH}
    return {
        "chat": _object({"model": model, "messages": _list(said), "stream": _SWITCH}, ["model", "messages"]),
        "response": _object({"model": model, "input": _any(_TEXT, _list(item)), "stream": _SWITCH}, ["model", "input"]),
        "message": _object(talk, ["model", "messages"]),
        "generate": _object({"contents": _list(turn)}, ["contents"]),
        "session": _object({"model": model, "input": _any(_TEXT, _list(turn)), "stream": _SWITCH}, ["model", "input"]),
    }


def _below_models(base: str, prefix: str, listing: Dialect, generate: JsonObject) -> list[Operation]:
    """Gemini's paths. `listing` is the dialect in which models are listed."""
    known: JsonObject = {"type": "object"}
    pieces: JsonObject = {_JSON: _list(_ANSWERS["generated"]), _SSE: {}}
    counted = _object({"totalTokens": {"type": "integer"}}, ["totalTokens"])
    return [
        _operation("GET", base, f"{prefix}listModels", "Models that can be asked.", listing, {_JSON: known}),
        _operation("GET", f"{base}/{{model}}", f"{prefix}showModel", "One of them.", listing, {_JSON: known}),
        _operation("POST", f"{base}/{{model}}:generateContent", f"{prefix}generateContent", "Gemini's answer.",
                   "gemini", {_JSON: _ANSWERS["generated"]}, generate),
        _operation("POST", f"{base}/{{model}}:streamGenerateContent", f"{prefix}streamGenerateContent",
                   "Gemini's answer in pieces: events with `alt=sse`, else an array.", "gemini", pieces, generate),
        _operation("POST", f"{base}/{{model}}:countTokens", f"{prefix}countTokens", "An estimate of a request's tokens.",
                   "gemini", {_JSON: counted}, generate),
    ]  # fmt: skip


def model_operations(catalogue: Catalogue) -> list[Operation]:
    bodies = _bodies(catalogue)
    streamed = {name: {_JSON: shape, _SSE: {}} for name, shape in _ANSWERS.items()}
    chat: Dialect = "openai-chat"
    responses: Dialect = "openai-responses"
    found = [
        _operation("POST", "/v1/chat/completions", "createChatCompletion", "OpenAI's Chat Completions.",
                   chat, streamed["chat"], bodies["chat"]),
        _operation("POST", "/v1/messages", "createMessage", "Anthropic's Messages.",
                   "anthropic", streamed["message"], bodies["message"]),
        _operation("POST", "/v1/messages/count_tokens", "countMessageTokens", "An estimate of a request's tokens.",
                   "anthropic", {_JSON: _COUNT}, bodies["message"]),
        _operation("POST", "/v1/responses", "createResponse", "OpenAI's Responses, with conversations that are kept.",
                   responses, streamed["response"], bodies["response"]),
        _operation("POST", "/v1/responses/input_tokens", "countInputTokens", "An estimate of a request's tokens.",
                   responses, {_JSON: _COUNT}, bodies["response"]),
        _operation("GET", "/v1/responses/{responseId}", "showResponse", "A response that was kept.",
                   responses, {_JSON: _ANSWERS["response"]}),
        _operation("POST", "/v1/responses/{responseId}/cancel", "cancelResponse", "Cancel a response in the background.",
                   responses, {_JSON: _ANSWERS["response"]}),
        _operation("DELETE", "/v1/responses/{responseId}", "deleteResponse", "Forget a response.",
                   responses, {_JSON: _object({"deleted": {"const": True}}, ["id", "deleted"])}),
        _operation("POST", "/v1/gemini", "createGeminiTurn", "Gemini's contents in a conversation that is kept.",
                   "gemini", streamed["generated"], bodies["session"]),
    ]  # fmt: skip
    found += _below_models("/v1beta/models", "v1beta.", "gemini", bodies["generate"])
    found += _below_models("/v1/models", "v1.", chat, bodies["generate"])
    return found


def relay_operations(catalogue: Catalogue) -> list[Operation]:
    """What is below `/relay/{session}`: Gemini's models for the client, and the rest for the session's owner."""
    base = "/relay/{session}"
    tools = _object({"tools": _LOOSE_LIST, "toolConfig": {"type": ["object", "null"]}})
    body: JsonObject = {**tools, "additionalProperties": False}
    result = _object({"id": _TEXT, "response": {}}, ["id", "response"])
    shown = {_JSON: _object({"session": _TEXT, "tools": _LOOSE_LIST}, ["session", "tools"])}
    waiting = {_JSON: _object({"session": _TEXT, "calls": _list({"type": "object"})}, ["session", "calls"])}
    taken = {_JSON: _object({"session": _TEXT, "taken": _list(_TEXT), "waiting": _list(_TEXT)}, ["taken", "waiting"])}
    own = [
        _operation("GET", f"{base}/tools", "showRelayTools", "The tools of a relayed session.", "gemini", shown),
        _operation("PUT", f"{base}/tools", "setRelayTools", "Set them.", "gemini", shown, body),
        _operation("DELETE", f"{base}/tools", "clearRelayTools", "Clear them.", "gemini", shown),
        _operation("GET", f"{base}/calls", "listRelayCalls", "Calls that wait for a result.", "gemini", waiting),
        _operation("POST", f"{base}/results", "addRelayResults", "Results of calls.", "gemini", taken,
                   _object({"results": _list(result)}, ["results"])),
    ]  # fmt: skip
    generate = _bodies(catalogue)["generate"]
    for version in ("v1beta", "v1"):
        own += _below_models(f"{base}/{version}/models", f"relay.{version}.", "gemini", generate)
    return [replace(operation, tag="relay") for operation in own]
