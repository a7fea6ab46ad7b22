"""Digests and effect keys: when are two calls the same call? Pure."""

from collections.abc import Collection, Mapping
from functools import lru_cache

from groundwire.contracts.canonical import JsonValue, canonical_json, digest, digest_bytes
from groundwire.contracts.tools import ToolSpec

KEY_DIGITS = 32
"""So much of a digest names an effect; all of it is compared. Half the length makes a smaller index."""

NAMES_THE_OBJECT = frozenset({"request_id", "workspace"})
"""Supplied arguments that say what a call is about. The others (timestamp, actor, key) differ between equal calls."""


def compared_arguments(
    supplied: Collection[str], arguments: Mapping[str, JsonValue], named: Mapping[str, JsonValue]
) -> dict[str, JsonValue]:
    """The arguments that make a call what it is. Of the supplied ones, those that the caller has `named` on purpose."""
    kept = {name: value for name, value in arguments.items() if name not in supplied}
    for name in supplied:
        if name in NAMES_THE_OBJECT and name in named:
            kept[name] = named[name]
    return kept


def joined(*parts: str) -> str:
    """Parts as one key. Other parts never give the same key, whatever characters they hold."""
    key = ":".join(parts)
    if "%" not in key and key.count(":") == len(parts) - 1:
        return key
    return ":".join(part.replace("%", "%25").replace(":", "%3A") for part in parts)


@lru_cache(maxsize=64)
def _run_prefix(session_id: str, run_id: str) -> str:
    return joined("run", session_id, run_id)


def caller_key(key: str) -> str:
    return f"caller:{key}"


def effect_key(
    spec: ToolSpec, arguments: Mapping[str, JsonValue], call_digest: str, *, run_id: str, session_id: str, call_id: str
) -> str:
    """The key that the runtime makes. Tenant and tool are columns of their own beside it."""
    scope = spec.policy.scope
    if scope == "run" or (scope == "conversation" and not session_id):  # without a session, the run is all there is
        return f"{_run_prefix(session_id, run_id)}:{call_digest[:KEY_DIGITS]}"
    if scope == "conversation":
        return joined("conversation", session_id, call_digest[:KEY_DIGITS])
    if scope == "call":
        return joined("call", session_id, call_id)
    return f"arguments:{digest({name: arguments.get(name) for name in scope})}"


def nested_key(parent_tool: str, parent_key: str, tool: str, call_digest: str) -> str:
    """A tool's own calls belong to it: if it runs again under its key, they replay."""
    return f"nested:{digest_bytes(canonical_json([parent_tool, parent_key, tool, call_digest]))}"
