"""One HTTP request on a connection of its own."""

import http.client
import json
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Response:
    status: int
    headers: dict[str, str]
    """Names in lower case."""
    body: bytes

    @property
    def text(self) -> str:
        return self.body.decode("utf-8", "replace")

    def json(self) -> Any:
        """The body as JSON; an empty object if it is not JSON."""
        try:
            return json.loads(self.body)
        except ValueError:
            return {}


def send(
    port: int,
    method: str,
    path: str,
    body: object = None,
    headers: dict[str, str] | None = None,
    *,
    timeout: float = 10,
) -> Response:
    """Bytes and strings are sent unchanged, anything else as JSON. Raises OSError or HTTPException."""
    given = dict(headers or {})
    if body is not None and not isinstance(body, (bytes, str)):
        body = json.dumps(body)
        given.setdefault("content-type", "application/json")
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=timeout)
    try:
        connection.request(method, path, body.encode() if isinstance(body, str) else body, given)
        answer = connection.getresponse()
        content = answer.read()
        received = {name.lower(): value for name, value in answer.getheaders()}
        return Response(status=answer.status, headers=received, body=content)
    finally:
        connection.close()


def try_send(
    port: int,
    method: str,
    path: str,
    body: object = None,
    headers: dict[str, str] | None = None,
    *,
    timeout: float = 10,
) -> Response | None:
    """As `send`, but None if there is no complete response in time."""
    try:
        return send(port, method, path, body, headers, timeout=timeout)
    except (OSError, http.client.HTTPException):
        return None


def bearer(key: str) -> dict[str, str]:
    return {"authorization": f"Bearer {key}"}
