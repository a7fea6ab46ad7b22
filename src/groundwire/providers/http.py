"""One provider over HTTP: encode, send, decode; again where that can help, and never after a piece was passed on.

Driven by an endpoint (where and how) and the codec of its dialect (what). Knows no loop and no tools; the catalogue
that leads here is above it.
"""

import re
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from functools import lru_cache, partial
from random import Random
from typing import TypeAlias

from msgspec.structs import replace

from groundwire.codecs.caching import ToolCache
from groundwire.codecs.dialects import codec_of
from groundwire.codecs.wire.building import noted, parts_of
from groundwire.codecs.wire.json import dump, read_object
from groundwire.codecs.wire.warnings import Encoded
from groundwire.contracts.canonical import JsonObject
from groundwire.contracts.errors import ConfigError, ProviderError, WireError
from groundwire.contracts.failures import Failure, FailureKind
from groundwire.contracts.ports import Clock
from groundwire.contracts.redaction import redact
from groundwire.contracts.replies import (
    FinishReason,
    Reply,
    ReplyEnded,
    ReplyFailed,
    ReplyPart,
    ReplyStarted,
)
from groundwire.contracts.requests import ModelRequest, SendOptions
from groundwire.providers.endpoints import Endpoint, headers_of, url_of
from groundwire.providers.failing import unreachable, unreadable
from groundwire.providers.overrides import allowed
from groundwire.providers.profiles import profile_of
from groundwire.providers.retries import delay_before, seconds_until
from groundwire.providers.secrets import Secret
from groundwire.providers.transforms import apply_to_request, apply_to_response, names_unknown, skipped
from groundwire.providers.transport import HttpRequest, HttpResponse, Transport, TransportError
from groundwire.providers.waiting import waiting

_SECRET_HEADER = re.compile("auth|key|token|secret|cookie", re.IGNORECASE)
_NO_OPTIONS = SendOptions()
_NOT_DONE = (FinishReason.FAILED, FinishReason.INCOMPLETE)

Batch: TypeAlias = list[ReplyPart]
"""The parts of a reply that arrived in one piece."""
_ERROR, _FAILED = b"error", b"failed"
"""One of these stands in every answer that reports a failure with the status of a success."""
_OLD_LIMIT = b'"max_tokens"'
_NO_HEADERS: Mapping[str, str] = {}


def _says_something(batch: Batch) -> bool:
    return bool(batch) and type(batch[-1]) is not ReplyStarted


def _url_of(endpoint: Endpoint, model: str, stream: bool) -> str:  # noqa: FBT001 - a cache's key
    return url_of(endpoint, model, stream=stream)


class HttpProvider:
    """Asks the models of one endpoint."""

    def __init__(
        self,
        endpoint: Endpoint,
        transport: Transport,
        *,
        clock: Clock,
        random: Random | None = None,
        cache: ToolCache | None = None,
    ) -> None:
        self._cache = cache
        self._headers = {stream: headers_of(endpoint, stream=stream) for stream in (False, True)}
        self._url_of = lru_cache(maxsize=256)(partial(_url_of, endpoint))
        self.endpoint = endpoint
        self._codec = codec_of(endpoint.dialect)
        self._transport = transport
        self._clock = clock
        self._random = random or Random()  # noqa: S311 - spreads retries, protects nothing

    async def complete(self, request: ModelRequest, options: SendOptions = _NO_OPTIONS) -> Reply:
        encoded = self._encode(replace(request, stream=False) if request.stream else request, options)
        attempt = 1
        while True:
            try:
                return await self._ask_once(request, encoded, options)
            except ProviderError as error:
                attempt += 1
                await self._wait_or_give_up(attempt, error)

    async def stream(self, request: ModelRequest, options: SendOptions = _NO_OPTIONS) -> AsyncGenerator[ReplyPart]:
        async with aclosing(self.batches(request, options)) as batches:
            async for batch in batches:
                for part in batch:
                    yield part

    async def batches(self, request: ModelRequest, options: SendOptions = _NO_OPTIONS) -> AsyncGenerator[Batch]:
        """The same, with the pieces together that came together: whoever passes them on need not part them."""
        if (
            options.response_transforms and self.endpoint.dialect == "openai-chat"
        ):  # they look at the whole message, so there is nothing to pass on before
            yield parts_of(await self.complete(request, options))
            return
        encoded = self._encode(request if request.stream else replace(request, stream=True), options)
        attempt = 1
        while True:
            passed_on = False
            try:
                async with aclosing(self._stream_once(request, encoded, options)) as batches:
                    async for batch in batches:
                        passed_on = True
                        yield batch
                return
            except ProviderError as error:
                if passed_on:
                    raise
                attempt += 1
                await self._wait_or_give_up(attempt, error)

    def forwards(self, dialect: str) -> bool:
        """Whether bytes of this dialect may be passed on as they are."""
        return dialect == self.endpoint.dialect and not self.endpoint.overrides and not self.endpoint.knobs

    def takes(self, body: bytes, model: str) -> bool:
        """Whether a model takes this body as it is: there are some that refuse the old name of the limit."""
        profile = profile_of(self.endpoint.dialect, self.endpoint.name, model)
        return getattr(profile, "takes_max_tokens", True) or _OLD_LIMIT not in body

    async def forward(
        self, body: bytes, model: str, *, stream: bool, headers: Mapping[str, str], seconds: float | None = None
    ) -> HttpResponse:
        attempt = 1
        while True:
            try:
                response = await self._post(body, model, stream=stream, headers=headers, seconds=seconds)
                if response.status < 300:
                    return response
                data = await self._read_error(response)
                raise self._failed(self._codec.decode_error(response.status, data, response.headers), response)
            except ProviderError as error:
                attempt += 1
                await self._wait_or_give_up(attempt, error)

    async def read(self, response: HttpResponse) -> bytes:
        try:
            with waiting():
                return await response.read()
        except TransportError as error:
            raise unreachable(error, self.endpoint.name) from None

    async def close(self) -> None:
        await self._transport.close()

    def _encode(self, request: ModelRequest, options: SendOptions) -> Encoded:
        profile = profile_of(self.endpoint.dialect, self.endpoint.name, request.model)
        if self.endpoint.knobs:
            profile = replace(profile, **self.endpoint.knobs)
        has_transforms = bool(options.message_transforms or options.tool_transforms or options.response_transforms)
        cache = None if has_transforms else self._cache  # what it wrote, nobody can read
        encoded = self._codec.encode_request(request, profile=profile, cache=cache, fragments=True)
        overrides = self.endpoint.overrides or options.overrides
        if not has_transforms and not overrides:
            return encoded
        body: JsonObject = {**encoded.body, **allowed(self.endpoint.overrides), **allowed(options.overrides)}
        warnings = encoded.warnings
        if unknown := names_unknown(options):
            raise ConfigError(f"There is no transform {', '.join(unknown)}.")
        if self.endpoint.dialect == "openai-chat":
            body = apply_to_request(body, options)
        else:
            reason = f"Transforms work on the OpenAI-chat shape; {self.endpoint.dialect} skips them."
            warnings = (*warnings, *skipped(options, reason))
        return replace(encoded, body=body, warnings=warnings)

    async def _ask_once(self, request: ModelRequest, encoded: Encoded, options: SendOptions) -> Reply:
        response = await self._post(dump(encoded.body), request.model, stream=False, seconds=options.timeout)
        data = await self.read(response)
        if response.status >= 300:
            raise self._failed(self._codec.decode_error(response.status, data, response.headers), response)
        return self._decode(data, encoded, options, response)

    def _decode(self, data: bytes, encoded: Encoded, options: SendOptions, response: HttpResponse) -> Reply:
        try:
            body: bytes | JsonObject = data
            if options.response_transforms or _ERROR in data or _FAILED in data:  # else it can be none
                body = read_object(data, what="answer")
                failure = self._codec.failure_in(body)
                if failure is not None:
                    raise self._failed(failure, response)
                if options.response_transforms and self.endpoint.dialect == "openai-chat":
                    body = apply_to_response(body, options)
            reply = self._codec.decode_response(body, names=encoded.names)
        except WireError as error:
            raise self._failed(unreadable(error, data), response) from None
        self._refuse_nothing(reply, response)
        return replace(reply, warnings=(*encoded.warnings, *reply.warnings)) if encoded.warnings else reply

    async def _stream_once(
        self, request: ModelRequest, encoded: Encoded, options: SendOptions
    ) -> AsyncGenerator[Batch]:
        response = await self._post(dump(encoded.body), request.model, stream=True, seconds=options.timeout)
        if response.status >= 300:
            data = await self._read_error(response)
            raise self._failed(self._codec.decode_error(response.status, data, response.headers), response)
        content_type = response.headers.get("content-type", "")
        if "event-stream" not in content_type and not ("json" in content_type and self.endpoint.dialect == "gemini"):
            yield await self._unstreamed(response, encoded, options)
            return
        passed_on = False
        due: Batch = []  # a beginning is passed on with what follows: until then it can be asked again
        # A failure must not leave the connection open.
        async with aclosing(self.received(response, encoded.names)) as received:
            async for batch in received:
                for part in batch:
                    if isinstance(part, ReplyFailed):
                        if _says_something(due):
                            yield due
                        raise self._failed(part.failure, response)
                    if isinstance(part, ReplyEnded) and not passed_on and not _says_something(due):
                        self._refuse_nothing(part.reply, response)
                    due.append(noted(part, encoded.warnings) if encoded.warnings else part)
                if _says_something(due):
                    passed_on = True
                    yield due
                    due = []

    def _refuse_nothing(self, reply: Reply, response: HttpResponse) -> None:
        """An answer that failed or broke off before it said anything is worth another try."""
        if reply.finish.reason not in _NOT_DONE or not reply.is_empty:
            return
        reason = reply.finish.detail or reply.finish.raw or reply.finish.reason
        message = f"The provider gave no answer ({reason})."
        failure = Failure(kind=FailureKind.BAD_RESPONSE, message=message, status=502, code=reply.finish.detail)
        raise self._failed(failure, response)

    async def received(self, response: HttpResponse, names: Mapping[str, str]) -> AsyncGenerator[Batch]:
        decoder = self._codec.StreamDecoder(names=names)
        try:
            while True:
                with waiting():
                    piece = await response.piece()
                if not piece:
                    break
                if batch := decoder.feed(piece):
                    yield batch
        except TransportError as error:
            raise unreachable(error, self.endpoint.name) from None
        finally:
            await response.close()
        if batch := decoder.finish():
            yield batch

    async def _unstreamed(self, response: HttpResponse, encoded: Encoded, options: SendOptions) -> list[ReplyPart]:
        """A server that ignores the wish for a stream and answers in one piece, or a proxy with a page of its own."""
        return parts_of(self._decode(await self.read(response), encoded, options, response))

    async def _post(
        self,
        body: bytes,
        model: str,
        *,
        stream: bool,
        seconds: float | None = None,
        headers: Mapping[str, str] = _NO_HEADERS,
    ) -> HttpResponse:
        usual = 0.0 if stream else self.endpoint.timeouts.total  # a long stream is no failure while pieces keep coming
        own = self._headers[stream]
        outgoing = HttpRequest(
            url=self._url_of(model, stream),
            headers={**own, **headers} if headers else own,
            body=body,
            timeout=usual if seconds is None else seconds,
        )
        try:
            with waiting():
                return await self._transport.send(outgoing)
        except TransportError as error:
            raise unreachable(error, self.endpoint.name) from None

    async def _read_error(self, response: HttpResponse) -> bytes:
        try:
            with waiting():
                return await response.read()
        except TransportError:
            return b""

    async def _wait_or_give_up(self, attempt: int, error: ProviderError) -> None:
        delay = delay_before(attempt, error.failure, self.endpoint.retry, self._random)
        if delay is None:
            raise error
        with waiting():
            await self._clock.sleep(delay)

    def _failed(self, failure: Failure, response: HttpResponse) -> ProviderError:
        date = response.headers.get("retry-after", "")
        if failure.retry_after is None and response.status >= 300 and date and not date.isdigit():
            failure = replace(failure, retry_after=seconds_until(date, self._clock.now()))
        hide = self._hide
        clean = replace(
            failure,
            message=hide(failure.message),
            body=hide(failure.body),
            code=failure.code and hide(failure.code),
            detail=failure.detail and hide(failure.detail),
        )
        return ProviderError(clean, hint=f"provider {self.endpoint.name}, status {failure.status}")

    def _hide(self, text: str) -> str:
        """Without the key, without what other headers carry as one, and without any other that the provider repeats."""
        text = redact(self.endpoint.key.hide_in(text))
        for name, value in self.endpoint.headers.items():
            if _SECRET_HEADER.search(name):
                text = Secret(value.removeprefix("Bearer ")).hide_in(text)
        return text
