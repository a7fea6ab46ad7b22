"""The seam to the official SDK: its requests become calls of the door, and what the door gives becomes its results.

The one module of the serving side that knows the SDK's types. Versions, framing and the two eras of the protocol (with
and without a handshake) are the SDK's business.
"""

import logging
import math
from collections.abc import Callable
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import mcp_types as types
from mcp import MCPError
from mcp.server.caching import CacheHint
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError

from groundwire import __version__
from groundwire.codecs.mcp import encode_result
from groundwire.contracts.canonical import dump_json
from groundwire.contracts.errors import ConfigError, ErrorDetail, ErrorType, GroundwireError, InvalidJson
from groundwire.contracts.results import ToolResult
from groundwire.mcp.door import Answered, Door, Question, ToolRequest
from groundwire.runtime.turns import TurnOptions

if TYPE_CHECKING:
    from collections.abc import Iterator

log = logging.getLogger("groundwire")

Request = ServerRequestContext[Any, Any]
Caller = Callable[[Request], TurnOptions]
"""Who makes a request, and under which rules."""

KEY = "groundwire/idempotencyKey"
"""The member of a call's `_meta` that makes it repeatable: the same key and arguments give the stored result."""
TOOLS_FRESH_MS = 60_000
_APPROVAL = "approval"
_FORM: dict[str, Any] = {
    "type": "object",
    "properties": {"note": {"type": "string", "title": "Note", "description": "Why. It is recorded; may be empty."}},
}


def make_server(
    door: Door, caller: Caller, *, elicits: bool, known_as: Callable[[Request], Any] | None = None
) -> Server:
    """A server of the SDK over a door. `elicits`: whether the client's user may agree to calls by the client itself."""

    async def list_tools(request: Request, params: types.PaginatedRequestParams | None) -> Any:
        with _told_to_clients():
            cursor = params.cursor if params is not None else None
            tools, following = await door.list_tools(_options(request, caller), cursor)
        page: dict[str, Any] = {"tools": tools, "resultType": "complete"}
        return page if following is None else page | {"nextCursor": following}

    async def call_tool(request: Request, params: types.CallToolRequestParams) -> Any:
        with _told_to_clients():
            wanted = ToolRequest(
                name=params.name,
                arguments=params.arguments or {},
                options=_options(request, caller),
                idempotency_key=_key(request),
                known_as=known_as(request) if known_as is not None else None,
                outlives=request.request is not None and request.protocol_version not in MODERN_PROTOCOL_VERSIONS,
            )
            report = _Progress(request)
            answered = await door.call(wanted, report)
            if answered.question is not None and elicits and _can_ask(request):
                agreed = await _ask(request, params, answered.question)
                if isinstance(agreed, types.InputRequiredResult):
                    return agreed
                answered = await _follow(door, wanted, answered, agreed, request, report)
            return _result(answered.result)

    return Server(
        "groundwire",
        version=__version__,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        cache_hints={"tools/list": CacheHint(ttl_ms=TOOLS_FRESH_MS, scope="private")},
    )


@contextmanager
def _told_to_clients() -> "Iterator[None]":
    """What a client learns of a failure that is not a tool's: its own fault in words, ours without any."""
    try:
        yield
    except MCPError:
        raise
    except ConfigError as error:
        raise MCPError(types.INVALID_PARAMS, error.message) from None
    except GroundwireError as error:
        log.error("a request could not be served: %s", error)  # noqa: TRY400 - its text is all there is to know
        later = " Try again later." if error.retryable else ""
        raise MCPError(types.INTERNAL_ERROR, f"The request could not be served.{later}") from None
    except Exception:
        log.exception("a request could not be served")
        raise MCPError(types.INTERNAL_ERROR, "The request could not be served.") from None


def _options(request: Request, caller: Caller) -> TurnOptions:
    """A client without session and user is known by the name that it gives, so that approvals can be bound to it."""
    options = caller(request)
    client = f"mcp:{_client_name(request)}"
    options.setdefault("actor", client)
    if not options.get("session") and not options.get("user"):
        options["user"] = client
    return options


def _client_name(request: Request) -> str:
    client = request.session.client_params
    return client.client_info.name[:100] if client is not None else "client"


def _key(request: Request) -> str | None:
    key = (request.meta or {}).get(KEY)
    if key is None or isinstance(key, str):
        return key
    raise MCPError(types.INVALID_PARAMS, f"{KEY} is a text.")


def _result(result: ToolResult) -> Any:
    """Tools that there are not are a mistake of the request; everything else is for the model to read."""
    error = result.error
    if error is not None and error.type is ErrorType.NOT_FOUND and error.detail == ErrorDetail.UNKNOWN_TOOL:
        raise MCPError(types.INVALID_PARAMS, error.message)
    encoded: dict[str, Any] = encode_result(result)
    if isinstance(result.data, dict) and "structuredContent" not in encoded:  # a tool's own blocks, which may be wrong
        try:
            types.CallToolResult.model_validate(encoded, by_name=False)
        except ValidationError:
            encoded["content"] = [{"type": "text", "text": dump_json(result.data).decode()}]
    return encoded | {"resultType": "complete"}


class _Progress:
    """Progress, in numbers that grow, as the protocol wants them."""

    def __init__(self, request: Request) -> None:
        self._session = request.session
        self._last = 0.0

    async def __call__(self, value: Any) -> None:
        number, total, message = _measure(value)
        if number is None:
            number = self._last + 1
        elif number <= self._last:
            number = math.nextafter(self._last, math.inf)
        self._last = number
        await self._session.report_progress(number, total, message)


def _measure(value: Any) -> tuple[float | None, float | None, str | None]:
    """A number is the progress itself; an object may name progress, total and message; anything else is a message."""
    if (number := _number(value)) is not None:
        return number, None, None
    if isinstance(value, dict) and (number := _number(value.get("progress"))) is not None:
        message = value.get("message")
        return number, _number(value.get("total")), None if message is None else str(message)
    try:
        return None, None, value if isinstance(value, str) else dump_json(value).decode()
    except InvalidJson:  # only a tool's result must be JSON
        return None, None, repr(value)


def _number(value: Any) -> float | None:
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
    return float(value) if is_number else None


def _can_ask(request: Request) -> bool:
    capabilities = request.session.client_capabilities
    if capabilities is None or capabilities.elicitation is None:
        return False
    return request.protocol_version in MODERN_PROTOCOL_VERSIONS or request.session.can_send_request


async def _ask(
    request: Request, params: types.CallToolRequestParams, question: Question
) -> types.ElicitResult | types.InputRequiredResult:
    """The person's answer; or, where the protocol has no way back, the question, to come again with the answer."""
    if request.protocol_version not in MODERN_PROTOCOL_VERSIONS:
        return await request.session.elicit_form(question.text, _FORM, related_request_id=request.request_id)
    given = (params.input_responses or {}).get(_APPROVAL)
    if isinstance(given, types.ElicitResult) and params.request_state == question.confirmation_id:
        return given
    form = types.ElicitRequestFormParams(message=question.text, requested_schema=_FORM)
    return types.InputRequiredResult(
        input_requests={_APPROVAL: types.ElicitRequest(params=form)}, request_state=question.confirmation_id
    )


async def _follow(
    door: Door, wanted: ToolRequest, answered: Answered, agreed: types.ElicitResult, request: Request, report: _Progress
) -> Answered:
    """Write down what was decided, and make the call again; who did not decide leaves it waiting."""
    if answered.question is None or agreed.action == "cancel":
        return answered
    note = (agreed.content or {}).get("note")
    await door.decide(
        answered.question,
        wanted.options,
        agreed=agreed.action == "accept",
        by=f"the user of {_client_name(request)}",
        note=note if isinstance(note, str) else "",
    )
    return await door.call(wanted, report)
