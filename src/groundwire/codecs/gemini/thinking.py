"""`thinkingConfig`: levels for Gemini 3 and later, token budgets before that, nothing for older models."""

from typing import Any

from groundwire.codecs.gemini.casing import camel_keys
from groundwire.codecs.gemini.profile import DIALECT, Profile
from groundwire.codecs.wire.private import keep, take_own, unknown_values, visible
from groundwire.codecs.wire.reading import as_object, optional_bool, optional_proto_int, optional_text
from groundwire.codecs.wire.warnings import Losses
from groundwire.contracts.canonical import JsonObject
from groundwire.contracts.requests import ReasoningOptions

_KNOWN = frozenset({"thinkingLevel", "thinkingBudget", "includeThoughts"})
_RANKS = {"none": 0, "minimal": 0, "low": 1, "medium": 2, "high": 3, "xhigh": 4, "max": 5}
_LEVELS = {"MINIMAL": 0, "LOW": 1, "MEDIUM": 2, "HIGH": 3}
# What Google's own OpenAI endpoint makes of these words.
_BUDGETS = {"none": 0, "minimal": 1024, "low": 1024, "medium": 8192, "high": 24_576, "xhigh": 24_576, "max": 24_576}


def read_thinking(value: Any, path: str) -> ReasoningOptions:
    wire = camel_keys(as_object(value, path))
    members = unknown_values(wire, _KNOWN)
    level = optional_text(wire, "thinkingLevel", path)
    budget = optional_proto_int(wire, "thinkingBudget", path)
    if level is not None and level not in _LEVELS:
        members["_level"] = level
    if budget is not None and (budget < 0 or level is not None):
        # -1 leaves the amount to the model, which is no number of tokens; both together are Gemini's to judge.
        members["thinkingBudget"] = budget
        budget = None
    return ReasoningOptions(
        effort=None if level is None else level.lower(),
        budget=budget,
        summary=optional_bool(wire, "includeThoughts", path),
        private=keep(DIALECT, members),
    )


def write_thinking(options: ReasoningOptions, losses: Losses, profile: Profile) -> JsonObject | None:
    members = take_own(options.private, DIALECT, "reasoning", losses) if options.private else {}
    if profile.thinking == "none":
        if options.effort not in (None, "none") or options.budget or options.summary:
            losses.add("option_dropped", "reasoning", "The model does not think.")
        return None
    wire: JsonObject = {}
    if options.summary is not None:
        wire["includeThoughts"] = options.summary
    if profile.thinking == "budget":
        _add_budget(wire, options, losses, profile)
    elif options.effort is not None:
        level = members.get("_level") or _level(options.effort, losses, profile)
        if level is not None:
            wire["thinkingLevel"] = level
        if options.budget is not None:
            losses.add("option_dropped", "reasoning.budget", "Level and budget exclude each other; the level was sent.")
    elif options.budget is not None:
        wire["thinkingBudget"] = options.budget
    wire.update(visible(members))
    return wire


def _level(effort: str, losses: Losses, profile: Profile) -> str | None:
    """The level itself, or the nearest one that the model has."""
    word = effort.upper()
    if word in profile.levels:
        return word
    if effort not in _RANKS:
        losses.add("option_dropped", "reasoning.effort", f"{effort!r} is no known amount of thinking.")
        return None
    rank = _RANKS[effort]
    nearest = min(profile.levels, key=lambda level: (abs(_LEVELS.get(level, 3) - rank), -_LEVELS.get(level, 3)))
    losses.add("option_adjusted", "reasoning.effort", f"{effort!r} was sent as {nearest}.")
    return nearest


def _add_budget(wire: JsonObject, options: ReasoningOptions, losses: Losses, profile: Profile) -> None:
    wanted = options.budget
    if wanted is None and options.effort is not None:
        wanted = _BUDGETS.get(options.effort)
        if wanted is None:
            losses.add("option_dropped", "reasoning.effort", f"{options.effort!r} is no known amount of thinking.")
    if wanted is None:
        return
    least, most = profile.budget_range
    fitting = min(max(wanted, least), most)
    if fitting != wanted:
        losses.add("option_adjusted", "reasoning.budget", f"{wanted} tokens were sent as {fitting}.")
    wire["thinkingBudget"] = fitting
