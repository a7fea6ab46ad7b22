"""Exports spans as the OTEL_* variables say, without keys."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from opentelemetry.sdk.trace import Event, ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, ConsoleSpanExporter, SpanExporter, SpanExportResult
from opentelemetry.trace import Status

from groundwire.contracts.redaction import redact, secrets_in


def exporting_provider(environ: Mapping[str, str]) -> TracerProvider:
    """Return a provider of tracers that exports to the console, or by OTLP."""
    exporter: SpanExporter
    if environ.get("OTEL_TRACES_EXPORTER") == "console":
        exporter = ConsoleSpanExporter()
    else:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter

        exporter = OTLPSpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(BatchSpanProcessor(RedactingExporter(exporter, secrets_in(environ))))
    return provider


class RedactingExporter(SpanExporter):
    """Hides keys in all texts of a span, also in spans of other libraries, which repeat what those were sent."""

    def __init__(self, exporter: SpanExporter, secrets: Collection[str] = ()) -> None:
        self._exporter = exporter
        self._secrets = secrets

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        return self._exporter.export([self._redacted(span) for span in spans])

    def shutdown(self) -> None:
        self._exporter.shutdown()

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        return self._exporter.force_flush(timeout_millis)

    def _redacted(self, span: ReadableSpan) -> ReadableSpan:
        return ReadableSpan(
            name=self._clean(span.name),
            context=span.context,
            parent=span.parent,
            resource=span.resource,
            attributes=self._clean_all(span.attributes),
            events=[Event(event.name, self._clean_all(event.attributes), event.timestamp) for event in span.events],
            links=span.links,
            kind=span.kind,
            status=Status(span.status.status_code, self._clean(span.status.description)),
            start_time=span.start_time,
            end_time=span.end_time,
            instrumentation_scope=span.instrumentation_scope,
        )

    def _clean_all(self, values: Mapping[str, Any] | None) -> dict[str, Any]:
        return {name: self._clean(value) for name, value in (values or {}).items()}

    def _clean(self, value: Any) -> Any:
        if isinstance(value, str):
            return redact(value, self._secrets)
        return [self._clean(entry) for entry in value] if isinstance(value, (list, tuple)) else value
