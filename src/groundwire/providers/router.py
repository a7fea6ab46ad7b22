"""One provider in front of all: finds out where a model is asked, and goes on to the next one when it fails.

What an earlier model said goes along to a fallback; its private data (signatures, ciphertexts) does not, because no
other model can read it. What was meant for one provider only (its own options and tools) stays there.
"""

from collections.abc import AsyncGenerator, Callable, Iterator, Mapping
from contextlib import aclosing
from typing import Protocol, TypeAlias, cast

from msgspec.structs import replace

from groundwire.codecs.wire.building import noted
from groundwire.codecs.wire.stored import stored_members
from groundwire.contracts.errors import ConfigError, ProviderError
from groundwire.contracts.failures import Failure, FailureKind
from groundwire.contracts.messages import Item, MediaPart, Message, NativeItem, Part, ResultItem, TextPart
from groundwire.contracts.ports import Provider
from groundwire.contracts.replies import Reply, ReplyPart, Usage, WireWarning
from groundwire.contracts.requests import FunctionTool, ModelRequest, SendOptions
from groundwire.providers.admission import check_asked
from groundwire.providers.catalogue import UNKNOWN_MODEL, Catalogue, Route, ToolCalling
from groundwire.providers.transport import HttpResponse

_FINAL = frozenset(
    {FailureKind.INVALID_REQUEST, FailureKind.TOO_LARGE, FailureKind.CONTENT_FILTER, FailureKind.CANCELLED}
)
"""Failures of the request itself: another model would be asked the same wrong thing."""

_Failed: TypeAlias = tuple[str, ProviderError]
"""A model by the name that it was asked for, and what came of it."""

Batches: TypeAlias = Callable[[ModelRequest, SendOptions], AsyncGenerator[list[ReplyPart]]]

_NO_OPTIONS = SendOptions()


class ForwardingProvider(Protocol):
    """One that can also pass bytes on in its own dialect."""

    def forwards(self, dialect: str) -> bool: ...

    def takes(self, body: bytes, model: str) -> bool: ...

    async def forward(
        self, body: bytes, model: str, *, stream: bool, headers: Mapping[str, str], seconds: float | None = None
    ) -> HttpResponse:
        """The answer that is there, its body still to be read; ProviderError for any other."""
        ...

    async def read(self, response: HttpResponse) -> bytes: ...

    def received(self, response: HttpResponse, names: Mapping[str, str]) -> AsyncGenerator[list[ReplyPart]]:
        """What an answer in pieces says, as it comes. `names` leads from the tools' names there to our own."""
        ...


class ModelRouter:
    """Asks the model that a request names, and its fallbacks in their order."""

    def __init__(self, catalogue: Catalogue, providers: Mapping[str, Provider]) -> None:
        self.catalogue = catalogue
        self._providers = dict(providers)
        self._forwarding = {
            name: cast("ForwardingProvider", provider)
            for name, provider in providers.items()
            if hasattr(provider, "forward")
        }
        self._is_closed = False

    async def complete(self, request: ModelRequest, options: SendOptions = _NO_OPTIONS) -> Reply:
        self._check(request, options)
        failed: list[_Failed] = []
        for name in self._names(request, options):
            try:
                route, provider = self._find(name)
                reply = await provider.complete(self._addressed(request, route, is_fallback=bool(failed)), options)
            except ProviderError as error:
                failed.append((name, error))
                if error.failure.kind in _FINAL:
                    break
            else:
                return replace(reply, warnings=(*_notes(route, failed), *reply.warnings)) if failed else reply
        raise _summary(failed)

    async def stream(self, request: ModelRequest, options: SendOptions = _NO_OPTIONS) -> AsyncGenerator[ReplyPart]:
        async with aclosing(self.batches(request, options)) as batches:
            async for batch in batches:
                for part in batch:
                    yield part

    async def batches(
        self, request: ModelRequest, options: SendOptions = _NO_OPTIONS
    ) -> AsyncGenerator[list[ReplyPart]]:
        """The same, with the pieces together that came together."""
        self._check(request, options)
        failed: list[_Failed] = []
        for name in self._names(request, options):
            passed_on = False
            try:
                route, provider = self._find(name)
                addressed = self._addressed(request, route, is_fallback=bool(failed))
                async with aclosing(_batches(provider, addressed, options)) as batches:
                    async for batch in batches:
                        passed_on = True
                        yield [noted(part, _notes(route, failed)) for part in batch] if failed else batch
            except ProviderError as error:
                if passed_on:
                    raise
                failed.append((name, error))
                if error.failure.kind in _FINAL:
                    break
            else:
                return
        raise _summary(failed)

    def direct(self, name: str, dialect: str) -> tuple[ForwardingProvider, str] | None:
        """The provider that takes bytes of this dialect as they are, and its name for the model.

        None where something has to be done to them: another dialect, fallbacks, settings of the provider.
        """
        route = self.catalogue.find(name)
        provider = self._forwarding.get(route.provider)
        if provider is None or not provider.forwards(dialect):
            return None
        return None if route.entry is not None and route.entry.fallbacks else (provider, route.model)

    def forwards(self, dialect: str) -> bool:
        """Whether there is any provider that takes bytes of this dialect as they are."""
        return any(provider.forwards(dialect) for provider in self._forwarding.values())

    def locate(self, name: str) -> tuple[str, str]:
        """Who is asked for a model, and by which name; nobody, for a name that leads nowhere."""
        try:
            route = self.catalogue.find(name)
        except ProviderError:
            return "", name
        return route.provider, route.model

    def who_answers(self, name: str, fallbacks: tuple[str, ...] = ()) -> tuple[str, ...]:
        """The model and all that may be asked in its place, each as `provider/model`."""
        names = (name, *(fallbacks or self.catalogue.fallbacks_of(name)))
        return tuple("/".join(filter(None, self.locate(one))) for one in names)

    def dialect_of(self, name: str) -> str:
        """What the provider of a model speaks; empty for one within this process."""
        endpoint = getattr(self._find(name)[1], "endpoint", None)
        return endpoint.dialect if endpoint is not None else ""

    def cost_of(self, name: str, usage: Usage) -> float | None:
        """What a reply of that model cost in dollars, if the catalogue has its prices."""
        entry = self.catalogue.entry_of(name)
        return None if entry is None or entry.prices is None else entry.prices.cost_of(usage)

    def tool_calling_of(self, name: str) -> str:
        """What the catalogue says of how reliably that model calls tools."""
        entry = self.catalogue.entry_of(name)
        return ToolCalling.UNKNOWN if entry is None else entry.tool_calling

    def presets_of(self, name: str) -> tuple[str, ...]:
        """The compatibility presets that the catalogue has for that model."""
        entry = self.catalogue.entry_of(name)
        return () if entry is None else entry.presets

    async def close(self) -> None:
        self._is_closed = True
        for provider in self._providers.values():
            await provider.close()

    def _check(self, request: ModelRequest, options: SendOptions) -> None:
        if self._is_closed:
            raise ConfigError("These models are closed.", hint="ask before close(), or open_models() again")
        check_asked(request, options)

    def _names(self, request: ModelRequest, options: SendOptions) -> Iterator[str]:
        """The model, then its fallbacks; nobody but its provider can go on from what is stored there."""
        yield request.model
        is_bound = bool(stored_members(request.extras))
        for name in options.fallbacks or self.catalogue.fallbacks_of(request.model):
            if not is_bound or self.locate(name)[0] == self.locate(request.model)[0]:
                yield name

    def _addressed(self, request: ModelRequest, route: Route, *, is_fallback: bool) -> ModelRequest:
        if not is_fallback:
            return request if request.model == route.model else replace(request, model=route.model)
        if route.provider != self.locate(request.model)[0]:
            request = without_own_options(request)
        return replace(request, model=route.model, items=without_private(request.items))

    def _find(self, name: str) -> tuple[Route, Provider]:
        route = self.catalogue.find(name)
        provider = self._providers.get(route.provider)
        if provider is None:
            raise _nobody(f"{route.provider}/{route.model}")
        return route, provider


def who_answers(provider: Provider) -> Callable[[str, tuple[str, ...]], tuple[str, ...]]:
    """From a model's name and its fallbacks to the full names of all who may answer; of one's own provider, as they are."""
    return provider.who_answers if isinstance(provider, ModelRouter) else _as_named


def _as_named(model: str, fallbacks: tuple[str, ...]) -> tuple[str, ...]:
    return model, *fallbacks


def without_private(items: tuple[Item, ...]) -> tuple[Item, ...]:
    """The conversation for another model: everything said and done, nothing that only the first could read."""
    return tuple(_public(item) for item in items if not isinstance(item, NativeItem))


def without_own_options(request: ModelRequest) -> ModelRequest:
    """The request for another provider: without the options, marks and tools that only the first one knows."""
    tools = tuple(replace(tool, private={}) for tool in request.tools if isinstance(tool, FunctionTool))
    return replace(
        request,
        instructions=tuple(replace(part, private={}) for part in request.instructions),
        tools=tools,
        tool_choice=replace(request.tool_choice, private={}) if request.tool_choice is not None and tools else None,
        output=replace(request.output, private={}) if request.output is not None else None,
        reasoning=replace(request.reasoning, private={}) if request.reasoning is not None else None,
        extras={},
    )


def _public(item: Item) -> Item:
    if isinstance(item, (Message, ResultItem)):
        return replace(item, parts=tuple(map(_public_part, item.parts)), private={})
    return item if isinstance(item, NativeItem) or not item.private else replace(item, private={})


def _public_part(part: Part) -> Part:
    if isinstance(part, TextPart) and (part.private or part.citations):
        return replace(part, private={}, citations=tuple(replace(source, private={}) for source in part.citations))
    return replace(part, private={}) if isinstance(part, MediaPart) and part.private else part


def _summary(failed: list[_Failed]) -> ProviderError:
    """The failure to report when nobody answers: the last of a provider, with what each model that was named came to."""
    errors = [error for _, error in failed]
    told = next((error for error in reversed(errors) if error.failure.code != UNKNOWN_MODEL), errors[0])
    if len(failed) == 1:
        return told
    message = " ".join(["No model answered.", *(f"{name}: {error.message}" for name, error in failed)])
    return ProviderError(replace(told.failure, message=message), hint=told.hint)


def _batches(provider: Provider, request: ModelRequest, options: SendOptions) -> AsyncGenerator[list[ReplyPart]]:
    batches: Batches | None = getattr(provider, "batches", None)
    return _one_by_one(provider, request, options) if batches is None else batches(request, options)


async def _one_by_one(
    provider: Provider, request: ModelRequest, options: SendOptions
) -> AsyncGenerator[list[ReplyPart]]:
    async with aclosing(provider.stream(request, options)) as parts:
        async for part in parts:
            yield [part]


def _notes(route: Route, failed: list[_Failed]) -> tuple[WireWarning, ...]:
    if not failed:
        return ()
    asked = ", ".join(f"{name} failed ({error.failure.kind})" for name, error in failed)
    message = f"{asked}; {route.provider}/{route.model} answered."
    return (WireWarning(code="fallback_used", path="model", message=message),)


def _nobody(model: str) -> ProviderError:
    message = f"No provider is set up for {model!r}."
    return ProviderError(Failure(kind=FailureKind.NOT_FOUND, message=message, status=404, code=UNKNOWN_MODEL))
