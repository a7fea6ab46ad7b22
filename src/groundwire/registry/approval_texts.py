"""`approvalText`: the template of the sentence that a person reads before deciding on a call.

Literal text with the names of arguments in braces: `Refund {cents} cents of order {order}`. A double brace is a brace.
`runtime.policies.confirmation` fills in the values.
"""

from collections.abc import Iterator
from string import Formatter

from groundwire.contracts.tools import ToolSpec
from groundwire.registry.validators import declared_arguments

MAX_CHARS = 500
"""Characters of a template."""


def parse_approval_text(template: str) -> tuple[tuple[str, str], ...]:
    """Return (literal, argument name) pairs in their order; the last name may be empty. ValueError if malformed."""
    pairs: list[tuple[str, str]] = []
    for literal, name, form, conversion in Formatter().parse(template):
        if form or conversion or name == "":
            raise ValueError(f"{{{name}}} must be the plain name of an argument, without index, format or conversion")
        pairs.append((literal, name or ""))
    return tuple(pairs)


def approval_text_problems(spec: ToolSpec) -> Iterator[tuple[str, str]]:
    """Yield what is wrong with the tool's template as (reason, message)."""
    template = spec.approval_text
    if not template:
        return
    if len(template) > MAX_CHARS or not template.isprintable() or not template.strip():
        yield "invalid_approval_text", f"approvalText must be one line of 1 to {MAX_CHARS} visible characters."
        return
    try:
        named = [name for _, name in parse_approval_text(template) if name]
    except ValueError as error:
        yield "invalid_approval_text", f"approvalText is not a valid template: {error}."
        return
    declared = declared_arguments(spec.parameters)
    for name in named:
        if declared is not None and name not in declared:
            yield "approval_text_not_declared", f"approvalText names {name!r}, which the schema does not declare."
