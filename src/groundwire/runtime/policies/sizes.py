"""Size guards, both ways. Sizes are bytes of UTF-8 JSON."""

from groundwire.contracts.decisions import ALLOW, Allow, Deny
from groundwire.contracts.errors import ErrorType


def within_argument_size(name: str, size: int, limit: int) -> Allow | Deny:
    if size <= limit:
        return ALLOW
    return Deny(
        type=ErrorType.ARGUMENTS_TOO_LARGE,
        message=f"The arguments of {name} have {size} bytes; the limit is {limit}. Send shorter ones.",
    )


def output_too_large(name: str, size: int, limit: int) -> str:
    return f"{name} returned {size} bytes; the limit is {limit}. Ask for less, for example with a narrower query."
