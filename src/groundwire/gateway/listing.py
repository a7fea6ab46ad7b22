"""What a client may ask about models: which there are, and how many tokens a request has."""

from groundwire.codecs.dialects import codec_of
from groundwire.codecs.listings import model_body, models_body
from groundwire.codecs.wire.json import dump, read_object
from groundwire.contracts.canonical import JsonObject
from groundwire.contracts.errors import GroundwireError, ProviderError
from groundwire.contracts.failures import Failure, FailureKind
from groundwire.contracts.keys import Caller
from groundwire.contracts.ports import TokenEstimator
from groundwire.contracts.requests import Dialect, ModelRequest
from groundwire.gateway.failing import write_failure
from groundwire.gateway.headers import headers_for
from groundwire.gateway.model_access import checked_body
from groundwire.gateway.services import Services
from groundwire.serving.exchanges import ClientGone, Exchange

_OWNER = "groundwire"


class ModelList:
    """Models that can be asked."""

    def __init__(self, services: Services) -> None:
        self._services = services

    async def serve(self, exchange: Exchange) -> None:
        await self.show(exchange, _dialect_of(exchange), exchange.path.partition("/models")[2].strip("/"))

    async def show(self, exchange: Exchange, dialect: Dialect, name: str) -> None:
        """One model, or all for an empty name."""
        created = int(self._services.clock.now())
        try:
            caller = await self._services.admit(exchange)
            if name:
                self._services.check_model(caller, name)
                self._services.models.catalogue.find(name)
                body = model_body(dialect, name, created=created, owner=_OWNER)
            else:
                body = models_body(dialect, self._names(caller), created=created, owner=_OWNER)
        except GroundwireError as error:
            write_failure(exchange, error, dialect)
            return
        exchange.answer(200, headers_for(exchange, dialect), dump(body))

    def refuse(self, exchange: Exchange, error: GroundwireError) -> None:
        write_failure(exchange, error, _dialect_of(exchange))

    def _names(self, caller: Caller) -> list[str]:
        usable = [
            entry
            for entry in self._services.models.catalogue.usable()
            if caller.may_use_model(entry.id, *entry.aliases, f"{entry.provider}/{entry.wire_name}")
        ]
        return list(dict.fromkeys(name for entry in usable for name in (entry.id, *entry.aliases)))


class TokenCount:
    """An estimate, for every model alike: characters by four, as budgets count them."""

    def __init__(self, dialect: Dialect, services: Services, estimator: TokenEstimator) -> None:
        self._dialect = dialect
        self._services = services
        self._estimator = estimator

    async def serve(self, exchange: Exchange, model: str = "") -> None:
        try:
            caller = await self._services.admit(exchange)
            body = await exchange.body(self._services.settings.max_body)
            request = self._read(read_object(checked_body(self._services.models, caller, body, model)), model)
            self._services.check_model(caller, request.model)
            self._services.schemas.check(request)
            counted = self._count(request)
        except ClientGone:
            raise
        except GroundwireError as error:
            self.refuse(exchange, error)
            return
        headers = [*headers_for(exchange, self._dialect), ("x-groundwire-estimated", "true")]
        exchange.answer(200, headers, dump(counted))

    def refuse(self, exchange: Exchange, error: GroundwireError) -> None:
        write_failure(exchange, error, self._dialect)

    def _read(self, body: JsonObject, model: str) -> ModelRequest:
        inner = body.get("generateContentRequest") or body.get("generate_content_request")
        if self._dialect == "gemini" and isinstance(inner, dict):
            body = inner
        if self._dialect == "anthropic":
            body = {"max_tokens": 1, **body}
        request = codec_of(self._dialect).decode_request(body, model=model)
        self._services.models.catalogue.find(request.model)
        return request

    def _count(self, request: ModelRequest) -> JsonObject:
        encoded = codec_of(self._dialect).encode_request(request)
        tokens = self._estimator.estimate(dump(encoded.body).decode())
        if self._dialect == "gemini":
            return {"totalTokens": tokens}
        if self._dialect == "openai-responses":
            return {"object": "response.input_tokens", "input_tokens": tokens}
        return {"input_tokens": tokens}


def _dialect_of(exchange: Exchange) -> Dialect:
    if exchange.path.startswith("/v1beta") or exchange.headers.get("x-goog-api-key") is not None:
        return "gemini"
    return "anthropic" if exchange.headers.get("anthropic-version") is not None else "openai-chat"


def no_such_method(exchange: Exchange, method: str) -> None:
    failure = Failure(kind=FailureKind.NOT_FOUND, message=f"There is no method {method!r} of a model.", status=404)
    write_failure(exchange, ProviderError(failure), "gemini")
