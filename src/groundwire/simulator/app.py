"""The simulator: a server that speaks the four HTTP dialects and Gemini Live, and knows nothing but a script.

A request is checked by the rules of its dialect, read by our codec, answered by the scripted model, and sent back as
the provider would send it, faults included. It keeps no conversation, except what its vendor would store too.
"""

from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Self

from msgspec import Struct
from msgspec.structs import replace

from groundwire.codecs import gemini
from groundwire.codecs.dialects import ReplyEncoder, codec_of
from groundwire.codecs.listings import model_body, models_body
from groundwire.codecs.wire.building import parts_of
from groundwire.codecs.wire.ids import IdRule, derived_id
from groundwire.codecs.wire.json import dump, read_object
from groundwire.contracts.canonical import JsonObject, JsonValue
from groundwire.contracts.errors import WireError
from groundwire.contracts.failures import Failure, FailureKind
from groundwire.contracts.ports import Clock
from groundwire.contracts.replies import Reply
from groundwire.contracts.requests import Dialect, ModelRequest
from groundwire.providers.composing import to_reply
from groundwire.providers.faults import Fault, FaultKind, failure_of
from groundwire.providers.scripted import ScriptedModel
from groundwire.providers.scripts import Answer
from groundwire.runtime.clock import SystemClock
from groundwire.simulator import rules_anthropic, rules_chat, rules_gemini, rules_responses
from groundwire.simulator.dressing import dressed
from groundwire.simulator.http import HttpServer, Request, Response, Upgrade
from groundwire.simulator.live import serve_live
from groundwire.simulator.responding import (
    error_response,
    json_response,
    paced,
    request_id_headers,
    silence,
    web_page,
    with_one_id,
)
from groundwire.simulator.routes import SECRET_HEADERS, Route, advice_about, keys_in, route_of, without_key
from groundwire.simulator.stored import StoredResponses, StoredThreads

MODELS = ("gpt-5.2", "claude-opus-4-6", "gemini-3-flash")
"""What the lists of models show. Any other name is answered too."""

_RULES = {
    "openai-chat": rules_chat.check,
    "openai-responses": rules_responses.check,
    "anthropic": rules_anthropic.check,
    "gemini": rules_gemini.check,
}
_OWNER = "simulator"
_REQUEST_IDS = IdRule(pattern="", prefix="req_", length=28)

_WRONG_KEY = Failure(kind=FailureKind.AUTHENTICATION, message="The API key is missing or not valid.", status=401)
_WRONG_GEMINI_KEY = Failure(
    kind=FailureKind.AUTHENTICATION,
    message="API key not valid. Please pass a valid API key.",
    status=400,
    code="API_KEY_INVALID",
    type="INVALID_ARGUMENT",
)


class SeenRequest(Struct, frozen=True, kw_only=True):
    """A request as it came in, without its keys. `body` is None where there was no JSON."""

    method: str
    path: str
    headers: dict[str, str]
    body: JsonValue = None


class ServedRequest(Struct, frozen=True, kw_only=True):
    """What became of a request. `status` is 0 where nothing is answered, `fault` the one that struck."""

    method: str
    path: str
    model: str
    status: int
    fault: Fault | None = None


class Simulator:
    """Serves a scripted model on a real socket.

    `piece` is how many characters a streamed piece has, `pause` how many seconds pass between two of them. With a `key`,
    requests without it are refused. The model's faults count the requests for answers, from 0. `keep` limits how many requests are
    remembered, newest last; `stored` how many of OpenAI's responses, and of Anthropic's threads, can be gone on from. A body that does not come within `patience`
    seconds is not waited for. `on_served` is told of each request when its answer begins.
    """

    def __init__(
        self,
        model: ScriptedModel | None = None,
        *,
        key: str = "",
        clock: Clock | None = None,
        piece: int = 12,
        pause: float = 0.0,
        keep: int | None = None,
        stored: int = 1000,
        patience: float = 60.0,
        on_served: Callable[[ServedRequest], None] | None = None,
    ) -> None:
        self.requests: list[SeenRequest] = []
        self.url = ""
        self._model = model or ScriptedModel()
        self._key = key
        self._clock = clock or SystemClock()
        self._piece = piece
        self._pause = pause
        self._keep = keep
        self._on_served = on_served
        self._received = 0
        self._answered = 0
        self._responses = StoredResponses(stored)
        self._memories: dict[Dialect, StoredResponses | StoredThreads] = {
            "openai-responses": self._responses,
            "anthropic": StoredThreads(stored),
        }
        self._server = HttpServer(self._handle, patience=patience)

    async def start(self, host: str = "127.0.0.1", port: int = 0) -> None:
        bound = await self._server.start(host, port)
        shown = f"[{host}]" if ":" in host else host
        self.url = f"http://{shown}:{bound}"

    async def close(self) -> None:
        await self._server.close()

    async def __aenter__(self) -> Self:
        if not self.url:
            await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.close()

    @property
    def openai_url(self) -> str:
        return f"{self.url}/v1"

    @property
    def anthropic_url(self) -> str:
        return self.url

    @property
    def gemini_url(self) -> str:
        return self.url

    @property
    def live_url(self) -> str:
        method = "google.ai.generativelanguage.v1beta.GenerativeService.BidiGenerateContent"
        return f"{self.url.replace('http://', 'ws://', 1)}/ws/{method}"

    @property
    def environment(self) -> dict[str, str]:
        """What to export so that the vendors' SDKs, and Groundwire, talk to this server."""
        key = self._key or "simulator"
        return {
            "OPENAI_BASE_URL": self.openai_url,
            "OPENAI_API_KEY": key,
            "ANTHROPIC_BASE_URL": self.anthropic_url,
            "ANTHROPIC_API_KEY": key,
            "GEMINI_BASE_URL": self.gemini_url,
            "GOOGLE_GEMINI_BASE_URL": self.gemini_url,
            "GEMINI_API_KEY": key,
        }

    async def _handle(self, request: Request) -> Response | Upgrade:
        route = route_of(request.method, request.target, request.headers)
        self._received += 1
        seen = _seen(request)
        self.requests.append(seen)
        if self._keep is not None:
            del self.requests[: len(self.requests) - self._keep]
        request_id = derived_id(f"{self.url}:{self._received}", _REQUEST_IDS)
        headers = request_id_headers(route.dialect, request_id)
        fault = None
        try:
            answer: Response | Upgrade | Failure | None = self._refusal(request, route)
            if answer is None:
                fault = self._next_fault(route)
                answer = self._answer(request, route, headers, fault)
        except WireError as error:
            answer = Failure(kind=FailureKind.INVALID_REQUEST, message=error.message, status=400)
        except Exception as error:  # noqa: BLE001 - a script's own code may raise anything; the client gets to see it
            message = f"The simulator failed: {type(error).__name__}: {error}"
            answer = Failure(kind=FailureKind.SERVER, message=message, status=500)
        if isinstance(answer, Failure):
            answer = error_response(replace(answer, request_id=request_id), route, headers, clock=self._clock)
        if self._on_served is not None:
            self._on_served(_served(seen, route, answer, fault))
        return answer

    def _next_fault(self, route: Route) -> Fault | None:
        if route.action != "generate":
            return None
        number, self._answered = self._answered, self._answered + 1
        return self._model.faults.fault(number)

    def _refusal(self, request: Request, route: Route) -> Failure | None:
        if route.action == "unknown":
            message = f"There is no {request.method} {without_key(request.target)} here.{advice_about(request.target)}"
            code = "unknown_url" if route.dialect.startswith("openai") else None
            return Failure(kind=FailureKind.NOT_FOUND, message=message, status=404, code=code)
        if self._key and self._key not in keys_in(request.target, request.headers):
            return _WRONG_GEMINI_KEY if route.dialect == "gemini" else _WRONG_KEY
        return None

    def _answer(
        self, request: Request, route: Route, headers: dict[str, str], fault: Fault | None
    ) -> Response | Upgrade | Failure:
        created = int(self._clock.now())
        if route.action == "live":
            return serve_live(request, self._model, clock=self._clock, piece=self._piece, pause=self._pause)
        if route.action == "models":
            return json_response(
                models_body(route.dialect, MODELS, created=created, owner=_OWNER), headers, clock=self._clock
            )
        if route.action == "model":
            return json_response(
                model_body(route.dialect, route.model, created=created, owner=_OWNER), headers, clock=self._clock
            )
        if route.action == "stored":
            return self._stored_response(request, route, headers)
        if route.action == "count":
            return self._count(request, route, headers)
        if fault is not None and fault.kind is FaultKind.TIMEOUT:
            return silence(fault, self._clock)
        if fault is not None and fault.kind is FaultKind.STATUS:
            return failure_of(fault)
        if fault is not None and fault.kind is FaultKind.WRONG_CONTENT_TYPE:
            return web_page()
        return self._generate(request, route, headers, fault)

    def _generate(
        self, request: Request, route: Route, headers: dict[str, str], fault: Fault | None
    ) -> Response | Failure:
        body = read_object(request.body)
        earlier, memory = body.get("previous_response_id"), self._memories.get(route.dialect)
        if memory is not None:
            body = memory.completed(body)
        asked, failure = _read(body, route, request.headers)
        if failure is not None:
            return failure
        if route.dialect == "openai-responses" and earlier is not None:
            asked = _going_on(asked, earlier)
        answer = self._model.answer(asked)
        if answer.failure is not None:
            return answer.failure
        reply = dressed(answer, asked, body, route.dialect, fault=fault, created=int(self._clock.now()))
        call_ids = [item.call.call_id for item in reply.calls]
        is_double = fault is not None and fault.kind is FaultKind.DUPLICATE_IDS
        sent = codec_of(route.dialect).encode_response(reply, request=asked).body
        if is_double:
            sent = read_object(with_one_id(dump(sent), call_ids))
        if memory is not None:
            memory.keep(body, sent)
        if asked.stream:
            pieces = self._pieces(reply, asked, route)
            if is_double:
                pieces = [with_one_id(piece, call_ids) for piece in pieces]
            kind = "application/json; charset=utf-8" if route.array else "text/event-stream; charset=utf-8"
            chunks = paced(pieces, clock=self._clock, pause=self._pause, fault=fault)
            return Response(headers={"content-type": kind, **headers}, chunks=chunks)
        return json_response(sent, headers, clock=self._clock, fault=fault)

    def _pieces(self, reply: Reply, asked: ModelRequest, route: Route) -> list[bytes]:
        """All pieces of the stream, made before the first is sent, so that a mistake is still an error status."""
        encoder: ReplyEncoder = (
            gemini.StreamEncoder(request=asked, array=True)
            if route.array
            else codec_of(route.dialect).StreamEncoder(request=asked)
        )
        pieces = [encoder.feed(part) for part in parts_of(reply, piece=self._piece)]
        return [*pieces, encoder.finish()]

    def _stored_response(self, request: Request, route: Route, headers: dict[str, str]) -> Response | Failure:
        found = self._responses.body(route.response_id)
        if found is None:
            message = f"Response with id '{route.response_id}' not found."
            return Failure(kind=FailureKind.NOT_FOUND, message=message, status=404)
        if request.method == "DELETE":
            self._responses.forget(route.response_id)
            found = {"id": route.response_id, "object": "response", "deleted": True}
        return json_response(found, headers, clock=self._clock)

    def _count(self, request: Request, route: Route, headers: dict[str, str]) -> Response | Failure:
        body = read_object(request.body)
        inner = body.get("generateContentRequest") or body.get("generate_content_request")
        if route.dialect == "gemini" and isinstance(inner, dict):
            body = inner
        if route.dialect == "anthropic":
            body = {"max_tokens": 1, **body}
        memory = self._memories.get(route.dialect)
        if memory is not None:
            body = memory.completed(body)
        asked, failure = _read(body, route, request.headers)
        if failure is not None:
            return failure
        usage = to_reply(Answer(), asked).usage
        tokens = 0 if usage is None else usage.input
        names = {"gemini": "totalTokens"}
        counted: JsonObject = {names.get(route.dialect, "input_tokens"): tokens}
        if route.dialect == "openai-responses":
            counted["object"] = "response.input_tokens"
        return json_response(counted, headers, clock=self._clock)


def _read(body: JsonObject, route: Route, headers: Mapping[str, str]) -> tuple[ModelRequest, Failure | None]:
    """The request, or why the provider would refuse it; the rules come first, because they say it in its words."""
    named = body.get("model")
    model = route.model or (named if isinstance(named, str) else "")
    failure = _RULES[route.dialect](body, headers, model)
    if failure is not None:
        return ModelRequest(model=model), failure
    if route.dialect == "gemini":
        body = rules_gemini.with_whole_turns(body)
    return codec_of(route.dialect).decode_request(body, model=route.model, stream=route.stream), None


def _served(seen: SeenRequest, route: Route, answer: Response | Upgrade, fault: Fault | None) -> ServedRequest:
    named = seen.body.get("model") if isinstance(seen.body, dict) else None
    model = route.model or (named if isinstance(named, str) else "")
    status = answer.status if isinstance(answer, Response) else 101 if route.action == "live" else 0
    return ServedRequest(method=seen.method, path=seen.path, model=model, status=status, fault=fault)


def _going_on(asked: ModelRequest, earlier: JsonValue) -> ModelRequest:
    """The request as its response will repeat it: with the name of the response that it goes on from."""
    own = {**asked.extras.get("openai-responses", {}), "previous_response_id": earlier}
    return replace(asked, extras={**asked.extras, "openai-responses": own})


def _seen(request: Request) -> SeenRequest:
    try:
        body: JsonValue = read_object(request.body) if request.body else None
    except WireError:
        body = None
    headers = {name: value for name, value in request.headers.items() if name not in SECRET_HEADERS}
    return SeenRequest(method=request.method, path=without_key(request.target), headers=headers, body=body)
