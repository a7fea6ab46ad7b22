"""Who may call what: masks, exposure and modes.

A tool that is masked or not exposed gets the same refusal as one that does not exist, so that names cannot be probed.
"""

from collections.abc import Iterable

from msgspec import Struct

from groundwire.contracts.decisions import ALLOW, Allow, Deny
from groundwire.contracts.errors import ErrorDetail, ErrorType
from groundwire.contracts.texts import matches_glob
from groundwire.contracts.tools import Exposure, ToolSpec

EVERYTHING = "all"
CALLERS = ("model", "api", "tool")


class Mask(Struct, frozen=True, kw_only=True):
    """Globs, with `*` and `?`, over tool ids and wire names. No allow list means everything; deny always wins."""

    allow: tuple[str, ...] | None = None
    deny: tuple[str, ...] = ()


def parse_names(names: str | Iterable[str] | None) -> tuple[str, ...] | None:
    """A list, or a comma string, of tool names or globs. None stays None; empty means none at all."""
    if names is None:
        return None
    parts = names.split(",") if isinstance(names, str) else names
    return tuple(part.strip() for part in parts if part.strip())


def is_masked(spec: ToolSpec, mask: Mask) -> bool:
    if mask.allow is not None and not matches_any(spec, mask.allow):
        return True
    return matches_any(spec, mask.deny)


def is_callable_by(spec: ToolSpec, caller: str) -> bool:
    """Models see only what is exposed to them; applications and other tools may call the rest too."""
    return caller != "model" or spec.exposure is Exposure.MODEL


def within_mode(spec: ToolSpec, mode: str) -> Allow | Deny:
    if mode in spec.modes:
        return ALLOW
    where = " and ".join(spec.modes)
    return Deny(
        type=ErrorType.MODE_RESTRICTED,
        message=f"{spec.wire_name} works only in {where} conversations, and this one is {mode}. Go on without it.",
    )


def no_such_tool(name: str) -> Deny:
    """One text for unknown, masked and hidden alike. It never lists what exists."""
    shown = name if len(name) <= 80 else name[:77] + "…"
    return Deny(
        type=ErrorType.NOT_FOUND,
        detail=ErrorDetail.UNKNOWN_TOOL,
        message=f"There is no tool named {shown!r}. Use only the tools that were declared.",
    )


def matches_any(spec: ToolSpec, patterns: Iterable[str]) -> bool:
    return any(matches_name(spec.tool_id, spec.wire_name, pattern) for pattern in patterns)


def matches_name(tool_id: str, wire_name: str, pattern: str) -> bool:
    return pattern == EVERYTHING or matches_glob(tool_id, pattern) or matches_glob(wire_name, pattern)
