"""Which dialect and which of its methods a path names; a path that nobody knows still has a nearest dialect."""

import re
from collections.abc import Mapping
from typing import Literal, TypeAlias
from urllib.parse import SplitResult, parse_qsl, unquote, urlencode, urlsplit

from msgspec import Struct

from groundwire.contracts.requests import Dialect

Action: TypeAlias = Literal["generate", "count", "models", "model", "stored", "live", "unknown"]
_GEMINI = re.compile(r".*/(?:models|tunedModels)/(?P<model>.+):(?P<method>[A-Za-z]+)")
_MAX_PATH = 2000
_GEMINI_METHODS: dict[str, Action] = {
    "generateContent": "generate",
    "streamGenerateContent": "generate",
    "countTokens": "count",
}
_BASES = ("/v1", "/api/v1")
"""Where the other dialects begin: at the vendors themselves, and at OpenRouter."""
_METHODS: dict[str, tuple[Dialect, Action]] = {
    "/chat/completions": ("openai-chat", "generate"),
    "/responses/input_tokens": ("openai-responses", "count"),
    "/responses": ("openai-responses", "generate"),
    "/messages/count_tokens": ("anthropic", "count"),
    "/messages": ("anthropic", "generate"),
}
_STORED = re.compile(r"/v1/responses/(?P<id>[^/]+)")
SECRET_HEADERS = frozenset({"authorization", "x-api-key", "x-goog-api-key", "api-key", "cookie", "proxy-authorization"})


class Route(Struct, frozen=True, kw_only=True):
    """`stream` and `model` are what the path says of them, which only Gemini's does; `response_id` names a stored one."""

    dialect: Dialect
    action: Action
    model: str = ""
    stream: bool = False
    array: bool = False
    response_id: str = ""


def _split(target: str) -> SplitResult:
    """The parts of a target; one that is no address at all is only a path."""
    try:
        return urlsplit(target)
    except ValueError:
        return SplitResult("", "", target, "", "")


def route_of(method: str, target: str, headers: Mapping[str, str]) -> Route:
    parts = _split(target)
    path = unquote(parts.path).rstrip("/")
    if "BidiGenerateContent" in path and "websocket" in headers.get("upgrade", "").lower():
        return Route(dialect="gemini", action="live")
    if method == "GET" and "/models" in path:
        return _catalogue(path, headers)
    if method == "POST":
        found = _GEMINI.fullmatch(path) if len(path) <= _MAX_PATH else None
        if found is not None and found["method"] in _GEMINI_METHODS:
            is_stream = found["method"] == "streamGenerateContent"
            is_array = is_stream and dict(parse_qsl(parts.query)).get("alt") != "sse"
            action = _GEMINI_METHODS[found["method"]]
            return Route(dialect="gemini", action=action, model=found["model"], stream=is_stream, array=is_array)
        for base in _BASES:
            known = _METHODS.get(path.removeprefix(base)) if path.startswith(base) else None
            if known is not None:
                return Route(dialect=known[0], action=known[1])
    stored = _STORED.fullmatch(path) if method in ("GET", "DELETE") else None
    if stored is not None:
        return Route(dialect="openai-responses", action="stored", response_id=stored["id"])
    return Route(dialect=_nearest(path, headers), action="unknown")


def advice_about(target: str) -> str:
    """What is probably wrong with the base URL behind a path that is not known, as a sentence after another."""
    path = unquote(_split(target).path).rstrip("/")
    if path.startswith(("/v1/v1/", "/v1/v1beta/")):
        return " The base URL of this API is given without /v1."
    if any(path.endswith(method) for method in _METHODS) and not path.startswith("/v1/"):
        return (
            " Its path begins with /v1: for OpenAI's APIs the base URL ends in /v1, for Anthropic's the client adds it."
        )
    return ""


def _catalogue(path: str, headers: Mapping[str, str]) -> Route:
    dialect = _nearest(path, headers)
    name = path.partition("/models")[2].strip("/")
    return Route(dialect=dialect, action="model" if name else "models", model=name)


def _nearest(path: str, headers: Mapping[str, str]) -> Dialect:
    if "/v1beta" in path or "/publishers/google/" in path or "x-goog-api-key" in headers:
        return "gemini"
    if "/messages" in path or "anthropic-version" in headers:
        return "anthropic"
    return "openai-responses" if "/responses" in path else "openai-chat"


def keys_in(target: str, headers: Mapping[str, str]) -> list[str]:
    """Every key that a request brings, wherever its dialect puts it."""
    found = [headers[name] for name in ("x-api-key", "x-goog-api-key", "api-key") if name in headers]
    scheme, _, token = headers.get("authorization", "").partition(" ")
    if scheme.lower() in ("bearer", "token"):
        found.append(token.strip())
    found.extend(value for name, value in parse_qsl(_split(target).query) if name == "key")
    return found


def without_key(target: str) -> str:
    parts = _split(target)
    kept = [(name, value) for name, value in parse_qsl(parts.query, keep_blank_values=True) if name != "key"]
    return parts._replace(query=urlencode(kept)).geturl()
