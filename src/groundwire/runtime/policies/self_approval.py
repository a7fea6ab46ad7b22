"""Self-approval: whether an API key may approve the calls that it made itself."""

from msgspec import Struct

from groundwire.contracts.tools import wire_name
from groundwire.runtime.policies.access import matches_name


class ApprovalRule(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """One entry of `[[approvals.rules]]`. `keys` are ids of keys, `tools` are globs; an empty list of keys means all."""

    keys: tuple[str, ...] = ()
    tools: tuple[str, ...] = ("*",)
    self_approval: bool


class ApprovalSettings(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """`[approvals]`. `selfApproval`: whether a key may approve calls that it made, or that a run made which it started.

    Of the `rules`, the last that names both the key and the tool decides instead.
    """

    self_approval: bool = False
    rules: tuple[ApprovalRule, ...] = ()


def may_approve(settings: ApprovalSettings, *, tool_id: str, requested_by: str, decided_by: str) -> bool:
    """Whether the key `decided_by` may approve a call of the key `requested_by`. Both are ids, not names.

    An empty id stands for a decision or a call that was made without a key: by Python code, the command line, or a
    server that has none. These are not restricted.
    """
    if not decided_by or decided_by != requested_by:
        return True
    allowed = settings.self_approval
    for rule in settings.rules:
        is_key = not rule.keys or decided_by in rule.keys
        if is_key and any(matches_name(tool_id, wire_name(tool_id), pattern) for pattern in rule.tools):
            allowed = rule.self_approval
    return allowed
