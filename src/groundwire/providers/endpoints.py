"""Where a provider is and how it wants to be addressed: base URL, dialect, key, headers, paths.

Base URLs are read as each vendor's own SDK reads them: OpenAI's with `/v1`, Anthropic's and Gemini's without; a Vertex
URL ends in `/publishers/google`; OpenRouter's is base plus prefix.
"""

from collections.abc import Callable, Mapping
from typing import Any, Literal, TypeAlias
from urllib.parse import quote, urlsplit

from msgspec import Struct, field

from groundwire.contracts.canonical import JsonObject
from groundwire.contracts.errors import ConfigError
from groundwire.contracts.requests import Dialect
from groundwire.providers.retries import RetryPolicy
from groundwire.providers.secrets import Secret
from groundwire.providers.transport import Timeouts

Auth: TypeAlias = Literal["bearer", "x-api-key", "x-goog-api-key", "api-key", "query", "none"]
"""Where the key goes. `query` puts it into the address as `key=`, where logs may keep it: only for those who must."""
ANTHROPIC_VERSION = "2023-06-01"
AUTH_OF: dict[Dialect, Auth] = {
    "openai-chat": "bearer",
    "openai-responses": "bearer",
    "anthropic": "x-api-key",
    "gemini": "x-goog-api-key",
}
"""Where each dialect's own vendor looks for the key."""


ANY_KEY = "none"
"""What is sent where a base URL is all that was given: the vendors' SDKs insist on a key, and other servers ignore it."""


class Endpoint(Struct, frozen=True, kw_only=True):
    """One provider that can be asked. `overrides` go into every body sent to it.

    `knobs` are members of its dialect's profile that hold for all of its models, whatever is known of them.
    """

    name: str
    dialect: Dialect
    base_url: str
    key: Secret = field(default_factory=lambda: Secret(""))
    auth: Auth = "bearer"
    headers: dict[str, str] = field(default_factory=dict)
    timeouts: Timeouts = field(default_factory=Timeouts)
    retry: RetryPolicy = field(default_factory=RetryPolicy)
    overrides: JsonObject = field(default_factory=dict)
    knobs: dict[str, Any] = field(default_factory=dict)
    proxy: str = ""
    ca_file: str = ""

    def __repr__(self) -> str:
        """Addresses and headers may hold credentials too."""
        return f"Endpoint(name={self.name!r}, dialect={self.dialect!r})"


def url_of(endpoint: Endpoint, model: str, *, stream: bool) -> str:
    """The address of one request. A model's name never breaks out of its place in the path."""
    url = _path_of(endpoint, model, stream=stream)
    if endpoint.auth != "query" or not endpoint.key:
        return url
    return f"{url}{'&' if '?' in url else '?'}key={quote(endpoint.key.reveal(), safe='')}"


def _path_of(endpoint: Endpoint, model: str, *, stream: bool) -> str:
    base = endpoint.base_url.rstrip("/")
    if endpoint.dialect == "openai-chat":
        return f"{base}/chat/completions"
    if endpoint.dialect == "openai-responses":
        return f"{base}/responses"
    if endpoint.dialect == "anthropic":
        return f"{base}/messages" if base.endswith("/v1") else f"{base}/v1/messages"
    method = "streamGenerateContent?alt=sse" if stream else "generateContent"
    has_version = "/v1" in urlsplit(base).path
    name = quote(model.removeprefix("models/"), safe="", errors="replace")
    return f"{base}{'' if has_version else '/v1beta'}/models/{name}:{method}"


def headers_of(endpoint: Endpoint, *, stream: bool) -> dict[str, str]:
    headers = {"content-type": "application/json", "accept": "text/event-stream" if stream else "application/json"}
    if endpoint.dialect == "anthropic":
        headers["anthropic-version"] = ANTHROPIC_VERSION
    key = endpoint.key.reveal()
    if key and endpoint.auth == "bearer":
        headers["authorization"] = f"Bearer {key}"
    elif key and endpoint.auth not in ("none", "query"):
        headers[endpoint.auth] = key
    return {**headers, **{name.lower(): value for name, value in endpoint.headers.items()}}


def endpoints_from(environ: Mapping[str, str]) -> dict[str, Endpoint]:
    """The providers that the environment names: by a key, or by a base URL alone (then any key will do)."""
    return {endpoint.name: endpoint for name in VENDORS if (endpoint := endpoint_from(environ, name)) is not None}


def endpoint_from(environ: Mapping[str, str], vendor: str) -> Endpoint | None:
    """The same for one vendor."""
    return VENDORS[vendor](environ)


def _openai(environ: Mapping[str, str]) -> Endpoint | None:
    return _plain(environ, "openai", "OPENAI", "openai-responses", "https://api.openai.com/v1", "bearer")


def _anthropic(environ: Mapping[str, str]) -> Endpoint | None:
    return _plain(environ, "anthropic", "ANTHROPIC", "anthropic", "https://api.anthropic.com", "x-api-key")


def _gemini(environ: Mapping[str, str]) -> Endpoint | None:
    key = environ.get("GEMINI_API_KEY") or environ.get("GOOGLE_API_KEY") or ""
    known = {**environ, "GEMINI_API_KEY": key}
    host = "https://generativelanguage.googleapis.com"
    return _plain(known, "gemini", "GEMINI", "gemini", host, "x-goog-api-key")


def _plain(
    environ: Mapping[str, str], name: str, prefix: str, dialect: Dialect, default_url: str, auth: Auth
) -> Endpoint | None:
    key = environ.get(f"{prefix}_API_KEY", "")
    url = environ.get(f"{prefix}_BASE_URL", "")
    if not key and not url:
        return None
    base = checked_url(url or default_url, f"{prefix}_BASE_URL")
    return Endpoint(name=name, dialect=dialect, base_url=base, key=Secret(key or ANY_KEY), auth=auth)


def shown_url(url: str) -> str:
    """The address without what may be a credential in it: user, password and query."""
    try:
        parts = urlsplit(url)
    except ValueError:  # what Python says of a bracket that is not closed
        return "[not an address]"
    return parts._replace(netloc=parts.netloc.rpartition("@")[2], query="", fragment="").geturl()


def checked_url(url: str, setting: str) -> str:
    parts = urlsplit(shown_url(url))
    if parts.scheme not in ("http", "https") or not parts.netloc:
        raise ConfigError(f"{setting} must be an address with http:// or https://, not {shown_url(url)!r}.")
    return url


def _openrouter(environ: Mapping[str, str]) -> Endpoint | None:
    key = environ.get("OPENROUTER_API_KEY", "")
    url = environ.get("OPENROUTER_BASE_URL", "")
    if not key and not url:
        return None
    base = checked_url(url or "https://openrouter.ai/api", "OPENROUTER_BASE_URL").rstrip("/")
    prefix = environ.get("OPENROUTER_API_PREFIX", "" if base.endswith("/v1") else "/v1")
    total = _seconds(environ, "OPENROUTER_CLIENT_TIMEOUT", 120.0)
    timeouts = Timeouts(
        total=total,
        connect=_seconds(environ, "OPENROUTER_OPEN_TIMEOUT", 10.0),
        read=_seconds(environ, "OPENROUTER_READ_TIMEOUT", total),
    )
    path = f"{base}/{prefix.strip('/')}" if prefix.strip("/") else base
    return Endpoint(
        name="openrouter", dialect="openai-chat", base_url=path, key=Secret(key or ANY_KEY), timeouts=timeouts
    )


def _seconds(environ: Mapping[str, str], name: str, default: float) -> float:
    text = environ.get(name, "").strip()
    if not text:
        return default
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds < 1e9:
        raise ConfigError(f"{name} must be a number of seconds, 0 or more, not {text!r}.")
    return seconds


VENDORS: dict[str, Callable[[Mapping[str, str]], Endpoint | None]] = {
    "openai": _openai,
    "anthropic": _anthropic,
    "gemini": _gemini,
    "openrouter": _openrouter,
}
