"""What Anthropic's Messages refuses of thinking: budgets, signatures, and thoughts that were left out."""

import re
from collections.abc import Iterator
from typing import Any

from groundwire.contracts.failures import Failure
from groundwire.simulator.anthropic_turns import turns_of
from groundwire.simulator.refusals import Asked, placed, refuse, text_of
from groundwire.simulator.signatures import is_text_signature

_MODEL = re.compile(r"(opus|sonnet|haiku|fable|mythos)-(\d+)(?:-(\d{1,2})(?!\d))?")
_MIN_BUDGET = 1024
_THINKING = ("thinking", "redacted_thinking")


def generation_of(model: str) -> tuple[str, int, int]:
    """Name, major and minor number of a Claude model; all empty for names that say nothing."""
    found = _MODEL.search(model)
    return (found[1], int(found[2]), int(found[3] or 0)) if found else ("", 0, 0)


def is_adaptive_only(model: str) -> bool:
    """The newest models: no sampling, no fixed thinking budget."""
    name, major, minor = generation_of(model)
    return (
        name in ("fable", "mythos")
        or (name == "opus" and (major, minor) >= (4, 7))
        or (name == "sonnet" and major >= 5)
    )


def thinking_of(asked: Asked) -> dict[str, Any]:
    thinking = asked.body.get("thinking")
    return thinking if isinstance(thinking, dict) else {}


def thinking_options(asked: Asked) -> Iterator[Failure]:
    thinking = thinking_of(asked)
    if thinking.get("type") != "enabled":
        return
    budget, limit = thinking.get("budget_tokens"), asked.body.get("max_tokens")
    if not isinstance(budget, int):
        yield refuse("thinking.enabled.budget_tokens: Field required")
    elif budget < _MIN_BUDGET:
        yield refuse(f"thinking.enabled.budget_tokens: Input should be greater than or equal to {_MIN_BUDGET}")
    elif isinstance(limit, int) and budget >= limit:
        yield refuse("`max_tokens` must be greater than `thinking.budget_tokens`.")
    if is_adaptive_only(asked.model):
        yield refuse(f'"thinking.type.enabled" is not supported for {asked.model}. Use "thinking.type.adaptive".')


def thoughts(asked: Asked) -> Iterator[Failure]:
    messages = placed(asked.body.get("messages"))
    latest = max((place for place, message in messages if message.get("role") == "assistant"), default=-1)
    for place, message in messages:
        for number, block in placed(message.get("content")):
            if block.get("type") not in _THINKING:
                continue
            path = f"messages.{place}.content.{number}"
            if message.get("role") != "assistant":
                yield refuse(f"{path}: `thinking` blocks can only be in `assistant` messages")
            if block["type"] == "redacted_thinking":
                if not text_of(block.get("data")):
                    yield refuse(f"{path}.redacted_thinking.data: Field required")
            elif not text_of(block.get("signature")):
                yield refuse(f"{path}.thinking.signature: Field required")
            elif not is_text_signature(block["signature"], asked.model, text_of(block.get("thinking"))):
                yield refuse(
                    f"{path}: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be "
                    "modified. These blocks must remain as they were in the original response."
                    if place == latest
                    else f"{path}: Invalid `signature` in `thinking` block"
                )


def thoughts_kept(asked: Asked) -> Iterator[Failure]:
    """With a thinking budget, a turn that goes on after tool results begins with the thoughts that led to the calls."""
    if thinking_of(asked).get("type") != "enabled":
        return
    turns = turns_of(asked.body)
    starts = [
        n
        for n, (role, blocks) in enumerate(turns)
        if role == "user" and any(b.get("type") != "tool_result" for b in blocks)
    ]
    first = starts[-1] + 1 if starts else 0
    if first >= len(turns) or turns[first][0] != "assistant":
        return
    blocks = turns[first][1]
    kind = blocks[0].get("type") if blocks else ""
    if any(block.get("type") == "tool_use" for block in blocks) and kind not in _THINKING:
        yield refuse(
            f"messages.{first}.content.0.type: Expected `thinking` or `redacted_thinking`, but found `{kind}`. When "
            "`thinking` is enabled, a final `assistant` message must start with a thinking block."
        )
