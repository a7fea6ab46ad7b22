"""What can go wrong at a model's provider, in one vocabulary for all dialects."""

from enum import StrEnum

from msgspec import Struct


class FailureKind(StrEnum):
    """What went wrong at a provider, in one vocabulary for all dialects."""

    INVALID_REQUEST = "invalid_request"
    AUTHENTICATION = "authentication"
    BILLING = "billing"
    PERMISSION = "permission"
    NOT_FOUND = "not_found"
    CONFLICT = "conflict"
    TOO_LARGE = "too_large"
    CONTEXT_FULL = "context_full"
    CONTENT_FILTER = "content_filter"
    MALFORMED_CALL = "malformed_call"
    RATE_LIMIT = "rate_limit"
    QUOTA = "quota"
    CANCELLED = "cancelled"
    TIMEOUT = "timeout"
    OVERLOADED = "overloaded"
    SERVER = "server"
    BAD_RESPONSE = "bad_response"


RETRYABLE_FAILURES = frozenset(
    {
        FailureKind.CONFLICT,
        FailureKind.RATE_LIMIT,
        FailureKind.TIMEOUT,
        FailureKind.OVERLOADED,
        FailureKind.SERVER,
        FailureKind.BAD_RESPONSE,
    }
)


class Failure(Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """An error as a provider reported it. `code`, `type` and `param` are its own words; `body` is what it sent.

    `status` is 0 where the provider did not answer, or not to the end.
    """

    kind: FailureKind
    message: str
    status: int = 500
    code: str | None = None
    type: str | None = None
    param: str | None = None
    retry_after: float | None = None
    should_retry: bool | None = None
    request_id: str | None = None
    detail: str | None = None
    body: str = ""

    @property
    def retryable(self) -> bool:
        return self.kind in RETRYABLE_FAILURES if self.should_retry is None else self.should_retry
