"""What the runtime does, told to OpenTelemetry. Imported only where that is configured: the library behind it is heavy."""

from groundwire.telemetry.spans import OpenTelemetry, open_telemetry

__all__ = ["OpenTelemetry", "open_telemetry"]
