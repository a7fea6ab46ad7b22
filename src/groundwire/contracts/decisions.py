"""What a policy says about a call. Policies only decide; the dispatcher acts and records."""

from typing import ClassVar, Literal, TypeAlias

from msgspec import Struct

from groundwire.contracts.canonical import JsonValue
from groundwire.contracts.errors import ErrorType


class Allow(Struct, frozen=True, kw_only=True, tag_field="kind", tag="allow"):
    kind: ClassVar[Literal["allow"]] = "allow"


class Deny(Struct, frozen=True, kw_only=True, tag_field="kind", tag="deny"):
    """A refusal: never with side effects, and retryable only where waiting alone can help."""

    kind: ClassVar[Literal["deny"]] = "deny"
    type: ErrorType
    message: str
    detail: str | None = None
    retryable: bool = False
    operator: str = ""
    faults: tuple["Fault", ...] = ()


class Answer(Struct, frozen=True, kw_only=True, tag_field="kind", tag="answer"):
    """The policy itself has the answer, and the handler is not needed."""

    kind: ClassVar[Literal["answer"]] = "answer"
    data: JsonValue


class Confirm(Struct, frozen=True, kw_only=True, tag_field="kind", tag="confirm"):
    """A person must agree first."""

    kind: ClassVar[Literal["confirm"]] = "confirm"
    question: str


class Fault(Struct, frozen=True, kw_only=True):
    """One thing wrong with the arguments: where, what, and what to send instead. `pointer` is where, for machines."""

    path: str
    message: str
    detail: str
    pointer: str = ""


Decision: TypeAlias = Allow | Deny | Answer | Confirm

ALLOW = Allow()
