"""OpenAI's Responses API: conversations by their name, or from response to response."""

from collections.abc import Awaitable, Callable

import msgspec
from msgspec import Raw, Struct
from msgspec.structs import replace

from groundwire.contracts.canonical import JsonObject
from groundwire.contracts.errors import GroundwireError, WireError
from groundwire.contracts.failures import Failure, FailureKind
from groundwire.contracts.keys import Caller
from groundwire.contracts.requests import Dialect, ModelRequest
from groundwire.gateway.asking import PathWish
from groundwire.gateway.conversing import ConversationDoor, Wish, conversation_of
from groundwire.gateway.failing import Refused
from groundwire.gateway.headers import headers_for
from groundwire.gateway.services import Services
from groundwire.providers.waiting import Stopwatch
from groundwire.serving.exchanges import ClientGone, Exchange

_DIALECT: Dialect = "openai-responses"
_BASE = "/v1/responses/"
_OURS = frozenset({"conversation", "previous_response_id", "store", "background"})
"""Members that the gateway acts on itself; a provider is not told."""


class _Head(Struct, frozen=True, gc=False):
    """What has to be known of a body to tell whether it is to be kept."""

    store: bool | None = None
    conversation: Raw | None = None
    previous_response_id: Raw | None = None


_read_head = msgspec.json.Decoder(_Head).decode


class ResponsesDoor(ConversationDoor):
    def __init__(self, services: Services) -> None:
        super().__init__(_DIALECT, services)

    async def _pass_on(
        self, exchange: Exchange, caller: Caller, body: bytes, asked: PathWish, watch: Stopwatch
    ) -> bool:
        """Only what neither goes on from something nor is to be kept."""
        try:
            head = _read_head(body)
        except (msgspec.MsgspecError, UnicodeError, RecursionError):
            return False
        if head.store is not False or head.conversation is not None or head.previous_response_id is not None:
            return False
        return await super()._pass_on(exchange, caller, body, asked, watch)

    def _wish(self, body: bytes, asked: PathWish) -> Wish:
        request = self._codec.decode_request(body, cache=self._services.cache)
        own = request.extras.get(_DIALECT, {})
        previous = own.get("previous_response_id")
        if previous is not None and not isinstance(previous, str):
            raise WireError("must be a string", path="previous_response_id")
        if own.get("background"):
            raise WireError("true is not supported", path="background")
        is_kept = own.get("store") is not False
        return Wish(
            request=_with_own(request, {name: value for name, value in own.items() if name not in _OURS}),
            shown=_with_own(request, {**own, "store": is_kept}),
            conversation=conversation_of(own.get("conversation")),
            previous=previous or "",
            is_kept=is_kept,
            clears_tools="_tools" in own,
        )


class StoredResponses:
    """`GET` and `DELETE` of a response that was kept."""

    def __init__(self, services: Services, door: ResponsesDoor) -> None:
        self._services = services
        self._door = door

    async def show(self, exchange: Exchange) -> None:
        await self._act(exchange, self._services.threads.response)

    async def delete(self, exchange: Exchange) -> None:
        await self._act(exchange, self._services.threads.forget)

    async def _act(self, exchange: Exchange, act: Callable[[str, str], Awaitable[bytes | None]]) -> None:
        response_id = exchange.path.removeprefix(_BASE)
        try:
            caller = await self._services.admit(exchange)
            body = await act(caller.tenant, response_id)
            if body is None:
                message = f"Response with id '{response_id}' not found."
                raise Refused(Failure(kind=FailureKind.NOT_FOUND, message=message, status=404))
        except ClientGone:
            raise
        except GroundwireError as error:
            self._door.refuse(exchange, error)
            return
        exchange.answer(200, headers_for(exchange, _DIALECT), body)


def _with_own(request: ModelRequest, own: JsonObject) -> ModelRequest:
    others = {dialect: members for dialect, members in request.extras.items() if dialect != _DIALECT}
    return replace(request, extras={**others, _DIALECT: own} if own else others)
