"""Spans for OpenTelemetry, by its conventions for generative AI: `invoke_agent`, `chat`, `execute_tool`.

Imported only where telemetry is configured, because the library behind it is heavy. It sees values and decides nothing:
the runtime works the same without it.
"""

from asyncio import CancelledError
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TypeAlias

import msgspec
from opentelemetry import trace
from opentelemetry.trace import ProxyTracerProvider, Span, SpanKind, StatusCode, TracerProvider

from groundwire.contracts.calls import ToolCall
from groundwire.contracts.failures import Failure
from groundwire.contracts.redaction import redact
from groundwire.contracts.replies import Reply, Usage
from groundwire.contracts.requests import FunctionTool, ModelRequest
from groundwire.contracts.results import ToolResult
from groundwire.contracts.runs import Ended, Outcome, Run

_CONTENT_ON = frozenset({"true", "1", "span_only", "span_and_event"})
_WELL_KNOWN = {"gemini": "gcp.gemini"}
"""Where the conventions know a provider under another name than we do."""
_NOT_A_FAULT = frozenset({Outcome.COMPLETED, Outcome.AWAITING_APPROVAL, Outcome.CLIENT_CALLS})

Value: TypeAlias = str | bool | int | float | list[str] | None


class OpenTelemetry:
    """Tells a tracer. `with_content`: also what tools are told and tell, which may be personal."""

    def __init__(self, provider: TracerProvider | None = None, *, with_content: bool = False) -> None:
        self._tracer = trace.get_tracer("groundwire", tracer_provider=provider)
        self._with_content = with_content

    @contextmanager
    def watch_run(self, run: Run, agent: str, provider: str) -> Iterator[Callable[[Ended], None]]:
        about: dict[str, Value] = {
            "gen_ai.agent.name": agent or None,
            "gen_ai.provider.name": _WELL_KNOWN.get(provider, provider),
            "gen_ai.request.model": run.model,
            "gen_ai.conversation.id": run.session_id or run.run_id,
            "groundwire.run.id": run.run_id,
        }
        with self._span("invoke_agent", agent, SpanKind.INTERNAL, about) as span:

            def tell(ended: Ended) -> None:
                _set(span, {"groundwire.run.outcome": ended.outcome.value, **_usage(ended.usage)})
                if ended.outcome not in _NOT_A_FAULT:
                    _fail(span, ended.outcome.value, self._words_of(ended.failure))

            yield tell

    @contextmanager
    def watch_request(
        self, request: ModelRequest, provider: str, conversation: str
    ) -> Iterator[Callable[[Reply | Failure], None]]:
        about: dict[str, Value] = {
            "gen_ai.provider.name": _WELL_KNOWN.get(provider, provider),
            "gen_ai.request.model": request.model,
            "gen_ai.conversation.id": conversation,
            "gen_ai.output.type": "text" if request.output is None or request.output.type == "text" else "json",
            "gen_ai.request.max_tokens": request.max_output_tokens,
            "gen_ai.request.temperature": request.sampling.temperature,
            "gen_ai.request.top_p": request.sampling.top_p,
            "gen_ai.request.stream": request.stream,
        }
        if self._with_content and request.tools:
            about["gen_ai.tool.definitions"] = _definitions(request)
        with self._span("chat", request.model, SpanKind.CLIENT, about) as span:

            def tell(said: Reply | Failure) -> None:
                if isinstance(said, Failure):
                    _fail(span, said.kind.value, self._words_of(said))
                    return
                finish = said.finish
                _set(
                    span,
                    {
                        "gen_ai.response.id": said.reply_id or None,
                        "gen_ai.response.model": said.model or None,
                        "gen_ai.response.finish_reasons": [finish.raw or finish.reason.value],
                        **(_usage(said.usage) if said.usage is not None else {}),
                    },
                )

            yield tell

    @contextmanager
    def watch_call(self, call: ToolCall, conversation: str) -> Iterator[Callable[[ToolResult, bool], None]]:
        about: dict[str, Value] = {
            "gen_ai.tool.name": call.name,
            "gen_ai.tool.call.id": call.call_id,
            "gen_ai.tool.type": "function",
            "gen_ai.conversation.id": conversation or None,
        }
        if self._with_content:
            about["gen_ai.tool.call.arguments"] = call.raw
        with self._span("execute_tool", call.name, SpanKind.INTERNAL, about) as span:

            def tell(result: ToolResult, is_waiting: bool) -> None:  # noqa: FBT001 - the port's own order
                if is_waiting:
                    _set(span, {"groundwire.call.waiting": True})
                    return
                if self._with_content and result.ok:
                    _set(span, {"gen_ai.tool.call.result": msgspec.json.encode(result.data).decode()})
                _set(span, {"groundwire.call.replayed": result.meta.replayed})
                if result.error is not None:
                    _fail(span, result.error.type.value, result.error.message if self._with_content else "")

            yield tell

    def _words_of(self, failure: Failure | None) -> str:
        """What a provider says of a failure may repeat what it was sent."""
        return failure.message if failure is not None and self._with_content else ""

    @contextmanager
    def _span(self, operation: str, name: str, kind: SpanKind, about: Mapping[str, Value]) -> Iterator[Span]:
        title = f"{operation} {redact(name)}" if name else operation
        with self._tracer.start_as_current_span(title, kind=kind, record_exception=False) as span:
            _set(span, {"gen_ai.operation.name": operation, **about})
            try:
                yield span
            except BaseException as error:  # cancellation too
                _fail(span, "cancelled" if isinstance(error, CancelledError) else type(error).__name__, "")
                raise


def open_telemetry(environ: Mapping[str, str], *, with_content: bool = False) -> OpenTelemetry:
    """Telemetry as the OTEL_* variables say, through the tracer provider that the application has set up, if it has."""
    asked = environ.get("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", "").lower()
    wanted = with_content or asked in _CONTENT_ON
    if isinstance(trace.get_tracer_provider(), ProxyTracerProvider):
        from groundwire.telemetry.export import exporting_provider  # the SDK is not needed where others have set one up

        trace.set_tracer_provider(exporting_provider(environ))
    return OpenTelemetry(with_content=wanted)


def _usage(usage: Usage) -> dict[str, Value]:
    return {
        "gen_ai.usage.input_tokens": usage.input,
        "gen_ai.usage.output_tokens": usage.output,
        "gen_ai.usage.cache_read.input_tokens": usage.cached,
        "gen_ai.usage.cache_creation.input_tokens": usage.cache_write,
        "gen_ai.usage.reasoning.output_tokens": usage.reasoning,
    }


def _definitions(request: ModelRequest) -> str:
    functions = [
        {"type": "function", "name": tool.name, "description": tool.description, "parameters": tool.parameters}
        for tool in request.tools
        if isinstance(tool, FunctionTool)
    ]
    return msgspec.json.encode(functions).decode()


def _set(span: Span, values: Mapping[str, Value]) -> None:
    for name, value in values.items():
        if value is not None:
            span.set_attribute(name, redact(value) if isinstance(value, str) else value)


def _fail(span: Span, kind: str, message: str) -> None:
    span.set_attribute("error.type", kind)
    span.set_status(StatusCode.ERROR, redact(message) or None)
