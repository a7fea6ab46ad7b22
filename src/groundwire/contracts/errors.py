"""Errors on their two planes.

Raised, when Groundwire itself cannot go on. Each class has a stable `code`, says whether the same thing may work
later (`retryable`), and carries a `hint` for the person who reads it:

    GroundwireError
    ├─ InvalidJson           a text or value is not JSON, or nested too deeply
    ├─ ConfigError           a setting or a value given in Python is missing, unknown or of a wrong kind
    │  ├─ NameTaken          a name was given to something new, and something else has it
    │  ├─ TrustError         a trust file cannot be used; `reason` says why
    │  └─ NotReliable        a run must call tools, and its model is not trusted with them
    ├─ RegistryError         a tool cannot be registered
    │  ├─ ArtifactError      tool_registry.json cannot be read
    │  └─ SchemaTooComplex   a JSON Schema exceeds a limit of complexity; `measure`, `value` and `limit` say which
    ├─ WireError             a request, response or frame is not what its dialect says, or too odd to read
    ├─ NotExpressible        a request means something that the target dialect cannot say
    ├─ ProviderError         a model's provider refused or failed; `failure` says how
    ├─ StoreError            the store refused or cannot do something
    │  ├─ StoreUnavailable   the store cannot be reached now
    │  ├─ RunExists          a run of that id was created before
    │  └─ RunOvertaken       another caller or process continued the run
    ├─ NotFound              an approval, effect, session, key or report that was asked for does not exist
    │  └─ AlreadyDecided     it does, but cannot be decided: somebody has, or its time has run out
    ├─ RunInProgress         a run cannot be resumed now: another execution holds it
    ├─ ReportBusy            an evaluation is writing into this report right now
    ├─ ReportDamaged         a file of an evaluation's report cannot be read; `line` says where, if it has lines
    └─ AccessError           a request to a server is not let in
       ├─ KeyMissing         it carries no key, and the server wants one
       ├─ KeyUnknown         nobody has made the key that it carries
       ├─ KeyExpired         its key was valid until some time ago
       ├─ KeyRevoked         somebody has taken its key back
       ├─ NotAllowed         its key is good, but not for this (`subject`: scope, model, tool); or there are no keys, and a page asks (page)
       │  └─ SelfApproval    the key that made a call tried to approve it
       ├─ RateLimited        its key has made the requests, or used the tokens, of this window
       └─ BudgetExhausted    its key has spent the money of this window

Returned, when a tool's call fails: a `ToolResult` with an `ErrorType`. A handler asks for one by raising `ToolError`,
which never leaves the dispatcher.
"""

from enum import StrEnum
from typing import ClassVar, Literal

from groundwire.contracts.failures import Failure


class ErrorType(StrEnum):
    """Why a call failed. `detail` narrows it down."""

    VALIDATION = "VALIDATION"
    NOT_FOUND = "NOT_FOUND"
    INTERNAL = "INTERNAL"
    MODE_RESTRICTED = "MODE_RESTRICTED"
    BUDGET_EXCEEDED = "BUDGET_EXCEEDED"
    CONFIRMATION_REQUIRED = "CONFIRMATION_REQUIRED"
    SESSION_INACTIVE = "SESSION_INACTIVE"
    TRANSIENT = "TRANSIENT"
    PERMANENT = "PERMANENT"
    CONFLICT = "CONFLICT"
    AUTH = "AUTH"
    RATE_LIMIT = "RATE_LIMIT"
    LOOP_DETECTED = "LOOP_DETECTED"
    ARGUMENTS_TOO_LARGE = "ARGUMENTS_TOO_LARGE"
    TOOL_OUTPUT_TOO_LARGE = "TOOL_OUTPUT_TOO_LARGE"
    UNGROUNDED = "UNGROUNDED"
    OUTCOME_UNKNOWN = "OUTCOME_UNKNOWN"
    TIMEOUT = "TIMEOUT"
    CANCELLED = "CANCELLED"


class ErrorDetail(StrEnum):
    """The details that Groundwire itself gives. Tools may add their own."""

    INVALID_JSON = "INVALID_JSON"
    TOO_DEEP = "TOO_DEEP"
    NOT_AN_OBJECT = "NOT_AN_OBJECT"
    TYPE_MISMATCH = "TYPE_MISMATCH"
    MISSING_ARGUMENT = "MISSING_ARGUMENT"
    UNKNOWN_ARGUMENT = "UNKNOWN_ARGUMENT"
    INVALID_VALUE = "INVALID_VALUE"
    INVALID_PATH = "INVALID_PATH"
    SUPPLIED_MISSING = "SUPPLIED_MISSING"
    SUPPLIED_MISMATCH = "SUPPLIED_MISMATCH"
    UNKNOWN_TOOL = "UNKNOWN_TOOL"
    NO_HANDLER = "NO_HANDLER"
    NOT_RECORDED = "NOT_RECORDED"
    HANDLER_GONE = "HANDLER_GONE"
    HANDLER_CHANGED = "HANDLER_CHANGED"
    HANDLER_BROKEN = "HANDLER_BROKEN"
    DUPLICATE_CALL_ID = "DUPLICATE_CALL_ID"
    KEY_REUSED = "KEY_REUSED"
    IN_FLIGHT = "IN_FLIGHT"
    LEASE_LOST = "LEASE_LOST"
    LOCKED = "LOCKED"
    VERSION = "VERSION"
    CYCLE = "CYCLE"
    REPEATED_CALL = "REPEATED_CALL"
    EMPTY_RESULTS = "EMPTY_RESULTS"
    REFUSALS_IN_A_ROW = "REFUSALS_IN_A_ROW"
    DISABLED = "DISABLED"
    DENIED = "DENIED"
    EXPIRED = "EXPIRED"
    WINDOW_CLOSED = "WINDOW_CLOSED"
    NOT_JSON = "NOT_JSON"
    RESULT_SCHEMA = "RESULT_SCHEMA"
    SCHEMA_TOO_COMPLEX = "SCHEMA_TOO_COMPLEX"
    HANDLER_RAISED = "HANDLER_RAISED"


RETRYABLE_BY_DEFAULT = frozenset({ErrorType.TRANSIENT, ErrorType.RATE_LIMIT})


class GroundwireError(Exception):
    """The root of everything that Groundwire raises on purpose."""

    code: ClassVar[str] = "groundwire_error"
    retryable: ClassVar[bool] = False

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message} ({self.hint})" if self.hint else self.message


class InvalidJson(GroundwireError):
    code = "invalid_json"

    def __init__(self, message: str, *, too_deep: bool = False) -> None:
        super().__init__(message)
        self.too_deep = too_deep


class ConfigError(GroundwireError):
    code = "config_error"


class NameTaken(ConfigError):
    code = "name_taken"


class TrustError(ConfigError):
    """A trust file proves nothing. `reason` is unreadable, unsigned, tampered, expired or no_key."""

    code = "trust_error"

    def __init__(self, message: str, *, reason: str, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.reason = reason


class NotReliable(ConfigError):
    code = "not_reliable"


class RegistryError(GroundwireError):
    """A tool cannot be registered. `reason` is a stable code, such as `invalid_schema`."""

    code = "registry_error"

    def __init__(self, message: str, *, reason: str = "invalid_tool", hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.reason = reason


class ArtifactError(RegistryError):
    code = "artifact_error"


class SchemaTooComplex(RegistryError):
    """A JSON Schema exceeds a limit of `[schemas]`. `measure` names the setting without its `max`.

    `value` is what was measured, or at least that much: measuring stops where the limit is exceeded. `path` is where the
    schema stands in a request, if it came in one.
    """

    code = "schema_too_complex"
    detail = ErrorDetail.SCHEMA_TOO_COMPLEX

    def __init__(self, message: str, *, measure: str, value: int, limit: int, hint: str = "") -> None:
        measured = f"{measure} is {value}, the limit is {limit}" if limit else f"{measure} is not allowed"
        super().__init__(f"{self.detail}: {message}: {measured}.", reason=self.code, hint=hint)
        self.measure, self.value, self.limit = measure, value, limit
        self.path = ""


class WireError(GroundwireError):
    """Bytes that should be a dialect's request, response, stream or frame are something else. `path` says where."""

    code = "invalid_body"

    def __init__(self, message: str, *, path: str = "", hint: str = "") -> None:
        super().__init__(f"{path}: {message}" if path else message, hint=hint)
        self.path = path


class NotExpressible(GroundwireError):
    """Sending it anyway would change what was meant. `path` names the member of the request."""

    code = "not_expressible"

    def __init__(self, message: str, *, path: str = "", hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.path = path


class ProviderError(GroundwireError):
    """A provider could not be asked, or did not answer as it should. The message never holds a secret."""

    code = "provider_error"

    def __init__(self, failure: Failure, *, hint: str = "") -> None:
        super().__init__(failure.message, hint=hint)
        self.failure = failure


class StoreError(GroundwireError):
    code = "store_error"


class StoreUnavailable(StoreError):
    code = "store_unavailable"
    retryable = True


class RunExists(StoreError):
    """A run of that id was created before, and ids are never reused."""

    code = "run_exists"


class RunOvertaken(StoreError):
    """Another caller or process continued the run, so this one must not write to it any more."""

    code = "run_overtaken"


class NotFound(GroundwireError):
    code = "not_found"


class AlreadyDecided(NotFound):
    """It was decided before, or its time has run out. `decided_by` is who decided; empty if it was not a person."""

    code = "already_decided"

    def __init__(self, message: str, *, decided_by: str = "", hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.decided_by = decided_by


class RunInProgress(GroundwireError):
    """Another execution holds the run, or approvals that it waits for are pending."""

    code = "run_in_progress"
    retryable = True


class ReportBusy(GroundwireError):
    code = "report_busy"


class ReportDamaged(GroundwireError):
    code = "report_damaged"

    def __init__(self, message: str, *, line: int = 0, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.line = line


class AccessError(GroundwireError):
    """A server does not do what a request asks. The message may be shown to its sender, and never holds a key."""

    code = "access_error"


class KeyMissing(AccessError):
    code = "key_missing"


class KeyUnknown(AccessError):
    code = "key_unknown"


class KeyExpired(AccessError):
    code = "key_expired"


class KeyRevoked(AccessError):
    code = "key_revoked"


class NotAllowed(AccessError):
    code = "not_allowed"

    def __init__(
        self, message: str, *, subject: Literal["scope", "model", "tool", "page", "approval"], hint: str = ""
    ) -> None:
        super().__init__(message, hint=hint)
        self.subject = subject


class SelfApproval(NotAllowed):
    """The key that made a call tried to approve it, and `[approvals]` does not allow that."""

    code = "self_approval"


class RateLimited(AccessError):
    """`retry_after` is in seconds: until then no request with that key can pass."""

    code = "rate_limited"
    retryable = True

    def __init__(self, message: str, *, retry_after: float, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.retry_after = retry_after


class BudgetExhausted(AccessError):
    """`retry_after` is in seconds, as for RateLimited; but it is a person who decides about money."""

    code = "budget_exhausted"

    def __init__(self, message: str, *, retry_after: float, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.retry_after = retry_after


class ToolError(Exception):
    """Raised by a handler to fail its call in a way that it has thought about.

    Without `partial_side_effects` the handler vouches that nothing happened, so the same call may be made again.
    """

    def __init__(
        self,
        type: ErrorType,  # noqa: A002 - the name users type, and the name of the field it fills
        message: str,
        *,
        retryable: bool | None = None,
        partial_side_effects: bool = False,
        detail: str | None = None,
    ) -> None:
        super().__init__(message)
        self.type = ErrorType(type)
        self.message = message
        self.retryable = self.type in RETRYABLE_BY_DEFAULT if retryable is None else retryable
        self.partial_side_effects = partial_side_effects
        self.detail = detail
