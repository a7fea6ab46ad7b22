"""Grounding: do the quotes that a model gives stand in what it was told or found?"""

from collections.abc import Iterator

from groundwire.contracts.canonical import JsonValue
from groundwire.evals.graders.evidence import Evidence
from groundwire.evals.records import Finding
from groundwire.evals.scenarios import GroundingCheck


def grade_grounding(check: GroundingCheck, evidence: Evidence) -> Finding:
    sources = list(_sources(evidence))
    quotes = [
        quote
        for call in evidence.calls
        if call.name == check.tool
        for path in check.quotes
        for quote in _values_at(call.arguments, path.split("/")[1:])
    ]
    missing = [quote for quote in quotes if not _is_found(quote, sources)]
    counts = {"quotes": len(quotes), "grounded": len(quotes) - len(missing)}
    if not missing:
        return Finding(check="grounding", passed=True, counts=counts, tools=(check.tool,))
    message = f"{len(missing)} of {len(quotes)} quotes stand nowhere, such as {missing[0][:80]!r}."
    return Finding(
        check="grounding",
        passed=check.mode == "report",
        code="ungrounded",
        message=message,
        counts=counts,
        tools=(check.tool,),
        detail={"ungrounded": list(missing)},
    )


def _sources(evidence: Evidence) -> Iterator[str]:
    """What users and tools said; never the model's own words."""
    for item in evidence.conversation:
        if item.get("kind") == "result" or item.get("role") == "user":
            yield from _texts(item.get("parts"))


def _texts(value: JsonValue) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for one in value:
            yield from _texts(one)
    elif isinstance(value, dict):
        for one in value.values():
            yield from _texts(one)


def _values_at(value: JsonValue, names: list[str]) -> Iterator[str]:
    if not names:
        if isinstance(value, str):
            yield value
        return
    if names[0] == "*":
        inner = value if isinstance(value, list) else list(value.values()) if isinstance(value, dict) else []
        for one in inner:
            yield from _values_at(one, names[1:])
    elif isinstance(value, dict) and names[0] in value:
        yield from _values_at(value[names[0]], names[1:])


def _is_found(quote: str, sources: list[str]) -> bool:
    """Word for word within one message, as the runtime's own rule is."""
    return bool(quote.strip()) and any(quote in source for source in sources)
