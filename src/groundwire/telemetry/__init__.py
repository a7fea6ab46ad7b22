"""Exports what the runtime does as OpenTelemetry spans. Imported only if that is configured: the library is large."""

from groundwire.telemetry.spans import OpenTelemetry, open_telemetry

__all__ = ["OpenTelemetry", "open_telemetry"]
