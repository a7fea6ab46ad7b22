"""Variants: which implementation of a tool this call gets. The same person always gets the same one. Pure."""

import hashlib

from groundwire.contracts.tools import ToolSpec

BUCKETS = 10_000


def choose_variant(spec: ToolSpec, *, user: str, organisation: str, fallback: str) -> str:
    """The variant's name, or nothing for the tool itself. People and organisations come before percentages."""
    variants = spec.policy.variants
    for variant in variants:
        if (user and user in variant.users) or (organisation and organisation in variant.organisations):
            return variant.name
    if not any(variant.percent for variant in variants):
        return ""
    bucket = _bucket(spec.tool_id, user or organisation or fallback)
    start = 0.0
    for variant in variants:
        start += variant.percent * BUCKETS / 100
        if bucket < start:
            return variant.name
    return ""


def _bucket(tool_id: str, who: str) -> int:
    digest = hashlib.sha256(f"{tool_id}\x00{who}".encode()).digest()
    return int.from_bytes(digest[:8], "big") % BUCKETS
