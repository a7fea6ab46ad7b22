"""The relay's side for the owner of a session: its tools, the calls that wait, and their results.

Bodies are in Gemini's form; tools, choices and results are also read as OpenAI writes them.
"""

from groundwire.codecs import gemini, openai_responses
from groundwire.codecs.wire.json import dump, read_object, read_value
from groundwire.codecs.wire.reading import as_list, as_object, expected, required_text
from groundwire.codecs.wire.results import object_result
from groundwire.contracts.canonical import JsonObject, JsonValue
from groundwire.contracts.errors import WireError
from groundwire.contracts.failures import Failure, FailureKind
from groundwire.contracts.requests import NativeTool
from groundwire.gateway.failing import Refused
from groundwire.gateway.governed import is_ours
from groundwire.gateway.headers import headers_for
from groundwire.gateway.relay_sessions import offer_body
from groundwire.gateway.services import Services
from groundwire.gateway.threads import Offer
from groundwire.runtime.runs.comparing import read_raw
from groundwire.serving.exchanges import Exchange

_NAMES = {"tool_config": "toolConfig", "toolChoice": "tool_choice"}
_IDS = ("id", "call_id", "callId", "tool_call_id", "tool_use_id")
_VALUES = ("response", "result", "output", "content")


class RelayOwner:
    def __init__(self, services: Services) -> None:
        self._threads = services.threads
        self._tables = services.relay_tables
        self._clock = services.clock
        self._limit = services.settings.max_body
        self._schemas = services.schemas

    async def show_tools(self, exchange: Exchange, tenant: str, session: str) -> None:
        _answer(exchange, _shown(session, await self._threads.offer(tenant, session)))

    async def set_tools(self, exchange: Exchange, tenant: str, session: str) -> None:
        offer = read_offer(read_object(await exchange.body(self._limit)))
        self._schemas.measure_tools(offer.tools)
        await self._threads.set_offer(tenant, session, offer, int(self._clock.now()))
        _answer(exchange, _shown(session, offer))

    async def clear_tools(self, exchange: Exchange, tenant: str, session: str) -> None:
        await self._threads.set_offer(tenant, session, Offer(), int(self._clock.now()))
        _answer(exchange, _shown(session, Offer()))

    async def show_calls(self, exchange: Exchange, tenant: str, session: str) -> None:
        waiting = await self._tables.waiting_calls(tenant, session)
        calls: list[JsonValue] = [
            {"id": call.call_id, "name": call.name, "args": read_raw(call.arguments)} for call in waiting
        ]
        _answer(exchange, {"session": session, "calls": calls})

    async def add_results(self, exchange: Exchange, tenant: str, session: str) -> None:
        results = read_results(await exchange.body(self._limit))
        known = {call.call_id: call.result for call in await self._tables.calls(tenant, session)}
        written = [(call_id, dump(response).decode()) for call_id, response in results]
        for place, (call_id, result) in enumerate(written):
            if call_id not in known:
                message = f"No call with the id {call_id!r} was made in the session {session!r}."
                param = f"results[{place}].id"
                raise Refused(Failure(kind=FailureKind.NOT_FOUND, message=message, status=404, param=param))
            known[call_id] = known[call_id] or result
            _check_same(call_id, known[call_id], result)
        for call_id, result in written:  # all of them fit, so none is kept of a list that is refused
            if not await self._tables.add_result(tenant, session, call_id, result):
                stored = next(call for call in await self._tables.calls(tenant, session) if call.call_id == call_id)
                _check_same(call_id, stored.result, result)
        waiting = await self._tables.waiting_calls(tenant, session)
        taken: list[JsonValue] = [call_id for call_id, _ in results]
        _answer(exchange, {"session": session, "taken": taken, "waiting": [call.call_id for call in waiting]})


def _check_same(call_id: str, stored: str, result: str) -> None:
    """A result that comes twice is one; another one for the same call is a mistake."""
    if stored != result:
        message = f"The call {call_id!r} has another result already."
        raise Refused(Failure(kind=FailureKind.CONFLICT, message=message, status=409))


def read_offer(wire: JsonObject) -> Offer:
    """`tools` and `toolConfig` as Gemini has them, or `tools` and `tool_choice` as OpenAI has them."""
    body = {_NAMES.get(name, name): value for name, value in wire.items()}
    unknown = sorted(set(body) - {"tools", "toolConfig", "tool_choice"})
    if unknown:
        raise WireError("is not known; a session has tools and toolConfig, or tools and tool_choice", path=unknown[0])
    tools = body.get("tools")
    is_openai = any(_is_openai_tool(entry) for entry in as_list([] if tools is None else tools, "tools"))
    if "tool_choice" in body and "toolConfig" in body:
        raise WireError("cannot be given together with toolConfig", path="tool_choice")
    declared: JsonObject = {} if tools is None else {"tools": tools}
    config: JsonObject = {} if body.get("toolConfig") is None else {"toolConfig": body["toolConfig"]}
    own = gemini.decode_request({"contents": [], **({} if is_openai else declared), **config})
    choice: JsonObject = {"tool_choice": body.get("tool_choice")}
    other = openai_responses.decode_request({"input": [], "model": "", **(declared if is_openai else {}), **choice})
    tools_read = other.tools if is_openai else own.tools
    if any(isinstance(tool, NativeTool) and is_ours(tool) for tool in tools_read):
        raise WireError("cannot be tools of the server: the owner of the session carries its calls out", path="tools")
    return Offer(
        tools=tools_read,
        tool_choice=other.tool_choice if own.tool_choice is None else own.tool_choice,
        extras={} if is_openai and not config else own.extras,
    )


def _is_openai_tool(entry: JsonValue) -> bool:
    return isinstance(entry, dict) and any(
        isinstance(entry.get(name), (str, dict)) for name in ("type", "function", "name")
    )


def read_results(body: bytes) -> list[tuple[str, JsonObject]]:
    """Ids of calls with their results as Gemini wants them: a list, an object with `results`, or one result."""
    value = read_value(body)
    if isinstance(value, dict) and "results" in value:
        value = value["results"]
    elif isinstance(value, dict):
        value = [value]
    if not isinstance(value, list):
        raise expected("results", "an array of results", value)
    return [
        _read_result(as_object(entry, f"results[{place}]"), f"results[{place}]") for place, entry in enumerate(value)
    ]


def _read_result(entry: JsonObject, path: str) -> tuple[str, JsonObject]:
    inner = entry.get("functionResponse")
    if isinstance(inner, dict):
        entry, path = inner, f"{path}.functionResponse"
    name = next((name for name in _IDS if name in entry), "id")
    call_id = required_text(entry, name, path)
    if "error" in entry:
        return call_id, {"error": entry["error"]}
    found = next((name for name in _VALUES if name in entry), None)
    if found is None:
        raise WireError("is missing; a result has a response or an error", path=f"{path}.response")
    return call_id, _response(entry[found])


def _response(value: JsonValue) -> JsonObject:
    if isinstance(value, dict):
        return value
    return object_result(value, failed=False) if isinstance(value, str) else {"output": value}


def _shown(session: str, offer: Offer) -> JsonObject:
    written = offer_body(offer, "")
    return {"session": session, "tools": written.tools or None, "toolConfig": written.tool_config}


def _answer(exchange: Exchange, body: JsonObject) -> None:
    exchange.answer(200, headers_for(exchange, "gemini"), dump(body))
