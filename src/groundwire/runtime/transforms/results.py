"""Transforms of an envelope's JSON before a model is shown it. They take any view of the envelope, whole or partial."""

from groundwire.contracts.canonical import JsonObject, JsonValue
from groundwire.contracts.results import ENVELOPE_VERSION

_ERROR_DEFAULTS: JsonObject = {"retryable": False, "partialSideEffects": False, "detail": None}
_META_DEFAULTS: JsonObject = {
    "envelopeVersion": ENVELOPE_VERSION,
    "callId": "",
    "durationMs": 0.0,
    "registryVersion": "",
    "replayed": False,
}


def tool_result_compact_envelope(envelope: JsonObject) -> JsonObject:
    """Without what says nothing: empty lists, default members, and `errors` where it only repeats `error`.

    The outcome stays: `ok`, the data of a success even if it is null, the error of a failure.
    """
    compact: JsonObject = {}
    for name, value in envelope.items():
        shown = _compacted(name, value, envelope)
        if shown is not None or name not in ("data", "error", "errors", "warnings", "intents", "meta"):
            compact[name] = shown
        elif name == "data" and envelope.get("ok") is True:
            compact[name] = None
    return envelope if compact == envelope else compact


def _compacted(name: str, value: JsonValue, envelope: JsonObject) -> JsonValue:
    """The member as it is shown, None if it says nothing."""
    if name == "error":
        return _without(value, _ERROR_DEFAULTS)
    if name == "errors" and isinstance(value, (list, tuple)):  # a Struct turned into plain values keeps its tuples
        errors = [_without(error, _ERROR_DEFAULTS) for error in value]
        return None if errors in ([], [_without(envelope.get("error"), _ERROR_DEFAULTS)]) else errors
    if name == "meta":
        meta = _without(value, _META_DEFAULTS)
        return None if _is_empty(meta) else meta
    if name in ("warnings", "intents"):
        return None if _is_empty(value) else value
    return value


def _without(value: JsonValue, defaults: JsonObject) -> JsonValue:
    if not isinstance(value, dict):
        return value
    return {name: item for name, item in value.items() if name not in defaults or not _is_default(item, defaults[name])}


def _is_empty(value: JsonValue) -> bool:
    return value is None or (isinstance(value, (str, list, tuple, dict)) and not value)


def _is_default(value: JsonValue, default: JsonValue) -> bool:
    return value == default and isinstance(value, bool) == isinstance(default, bool)
