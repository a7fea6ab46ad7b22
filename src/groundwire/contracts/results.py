"""The envelope, version 1.0.0: the one shape in which every call ends, refused ones too.

Its JSON is camelCase and has a published schema (`schemas/envelope-1.0.0.json`). `message` is written for the model;
what the operator needs to know goes to the record and the log, never in here.
"""

from collections.abc import Callable
from typing import Any

import msgspec
from msgspec import UNSET, Struct, UnsetType, field

from groundwire.contracts.canonical import JsonObject, JsonValue
from groundwire.contracts.errors import RETRYABLE_BY_DEFAULT, ErrorType
from groundwire.contracts.intents import Intent

ENVELOPE_VERSION = "1.0.0"


class ErrorInfo(Struct, frozen=True, kw_only=True, gc=False, rename="camel"):
    """Why a call failed. `retryable`: the same call, unchanged, may succeed later without anyone's doing."""

    type: ErrorType
    message: str
    retryable: bool = False
    partial_side_effects: bool = False
    detail: str | None = None


class ConfirmationNotice(Struct, frozen=True, kw_only=True, gc=False, rename="camel"):
    """Which approval is waited for. Knowing the id approves nothing."""

    id: str
    expires_at: str


class Evidence(Struct, frozen=True, kw_only=True, gc=False, rename="camel"):
    """Where an argument's words stand in the conversation, or why they were not found there."""

    argument: str
    grounded: bool | None
    turn: int | None = None
    start: int | None = None
    end: int | None = None
    near_miss: str | None = None


class Meta(Struct, frozen=True, kw_only=True, gc=False, rename="camel"):
    """What the runtime says about a call. Fields that do not apply are absent from the JSON."""

    envelope_version: str = ENVELOPE_VERSION
    call_id: str = ""
    duration_ms: float = 0.0
    registry_version: str = ""
    replayed: bool = False
    tool: str | UnsetType = UNSET
    session_id: str | UnsetType = UNSET
    parent_call_id: str | UnsetType = UNSET
    confirmation: ConfirmationNotice | UnsetType = UNSET
    evidence: tuple[Evidence, ...] | UnsetType = UNSET
    variant: str | UnsetType = UNSET
    spilled: str | UnsetType = UNSET
    job: str | UnsetType = UNSET
    details: JsonObject | UnsetType = UNSET
    error_paths: tuple[str, ...] | UnsetType = UNSET


class ToolResult(Struct, frozen=True, kw_only=True, rename="camel"):
    """The result of one call. A handler may return one; `error` and `errors` then need only be given once."""

    ok: bool
    data: JsonValue = None
    error: ErrorInfo | None = None
    errors: tuple[ErrorInfo, ...] = ()
    warnings: tuple[str, ...] = ()
    intents: tuple[Intent, ...] = ()
    meta: Meta = field(default_factory=Meta)

    def __post_init__(self) -> None:
        if self.error is None and self.errors:
            msgspec.structs.force_setattr(self, "error", self.errors[0])
        elif self.error is not None and not self.errors:
            msgspec.structs.force_setattr(self, "errors", (self.error,))

    @classmethod
    def success(cls, data: JsonValue = None, **fields: Any) -> "ToolResult":
        return cls(ok=True, data=data, **fields)

    @classmethod
    def failure(
        cls,
        type: ErrorType,  # noqa: A002 - the name of the field it fills
        message: str,
        *,
        retryable: bool | None = None,
        partial_side_effects: bool = False,
        detail: str | None = None,
        **fields: Any,
    ) -> "ToolResult":
        error = ErrorInfo(
            type=type,
            message=message,
            retryable=type in RETRYABLE_BY_DEFAULT if retryable is None else retryable,
            partial_side_effects=partial_side_effects,
            detail=detail,
        )
        return cls(ok=False, error=error, **fields)


_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(ToolResult)


encode_result: Callable[[ToolResult], bytes] = _encoder.encode


def decode_result(data: bytes | str) -> ToolResult:
    """Read an envelope that we stored ourselves; use `schemas.envelope_problems` for anything else."""
    return _decoder.decode(data)
