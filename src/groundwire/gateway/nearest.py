"""Where nobody is: an error in the form of the API whose client most likely asked."""

from collections.abc import Sequence
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from groundwire.codecs.dialects import codec_of
from groundwire.contracts.errors import GroundwireError
from groundwire.contracts.failures import Failure, FailureKind
from groundwire.contracts.redaction import redact
from groundwire.contracts.requests import Dialect
from groundwire.contracts.shapes import did_you_mean
from groundwire.serving.answers import MethodNotAllowed, NoSuchPath, error_answer, json_answer, status_of
from groundwire.serving.application import methods_of
from groundwire.serving.exchanges import Route

_BY_PATH: tuple[tuple[str, Dialect], ...] = (
    ("/v1beta", "gemini"),
    ("/relay/", "gemini"),
    ("/v1/gemini", "gemini"),
    ("/v1/messages", "anthropic"),
    ("/v1/responses", "openai-responses"),
    ("/v1/", "openai-chat"),
)


def nearest_dialect(path: str) -> Dialect | None:
    """The dialect of a path's clients; None where it is none of a model API."""
    return next((dialect for prefix, dialect in _BY_PATH if path.startswith(prefix)), None)


class Nowhere:
    """An ASGI application for all paths that are not served, and for methods that a path does not take."""

    def __init__(self, routes: Sequence[Route], other_paths: Sequence[str]) -> None:
        self._routes = routes
        self._paths = sorted({route.path for route in routes if not route.path.endswith("*")} | set(other_paths))

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})
            return
        request = Request(scope, receive)
        await self._answer(request)(scope, receive, send)

    def _answer(self, request: Request) -> Response:
        path = request.url.path
        allowed = methods_of(self._routes, path)
        shown = redact(path)[:200]  # a key that is cut off would not be recognised any more
        error: GroundwireError = (
            MethodNotAllowed(request.method[:20], allowed)
            if allowed
            else NoSuchPath(f"Nothing is served at {shown}.", hint=did_you_mean(shown, self._paths))
        )
        own = error_answer(error)
        dialect = nearest_dialect(path)
        if dialect is None:
            return own
        failure = Failure(kind=FailureKind.NOT_FOUND, message=str(error), status=404, code=error.code)
        _, body = codec_of(dialect).encode_error(failure)
        if dialect == "gemini":
            body = {"error": {**body["error"], "code": status_of(error)}}  # type: ignore[dict-item]  # an object, always
        headers = {"allow": ", ".join(allowed)} if allowed else {}
        return json_answer(body, status_of(error), headers)
