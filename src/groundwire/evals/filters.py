"""Choosing by name: `openai,qwen/*,!*pro*`. One rule for models, sampling profiles, strategies and scenarios.

A name that matches nothing is an error, also behind `!`: a slip must not try, or spend, something else.
"""

from collections.abc import Callable, Iterable, Sequence
from fnmatch import fnmatchcase
from typing import TypeVar

from groundwire.contracts.errors import ConfigError
from groundwire.contracts.shapes import did_you_mean
from groundwire.evals.planning import EvalModel, SamplingProfile, Strategy
from groundwire.evals.scenarios import Scenario, Suite

ALL = "all"
DEFAULT = "default"

_T = TypeVar("_T")


def choose_models(models: Sequence[EvalModel], text: str, *, default: str = "stable") -> tuple[EvalModel, ...]:
    """By id, alias, id without its route, provider or tag. `all` are all real ones; those that are simulated are named."""

    def names(model: EvalModel) -> tuple[str, ...]:
        if model.by_name:
            return (model.id, *model.aliases)
        everyone = () if model.is_simulated else (ALL,)
        return (model.id, *model.aliases, model.base_id, model.provider, *model.tags, *everyone)

    return _chosen(models, names, _terms(text) or [default], default, "model")


def choose_profiles(profiles: Sequence[SamplingProfile], text: str) -> tuple[SamplingProfile, ...]:
    """By id or tag. Whether one suits a model is the plan's business."""

    def names(profile: SamplingProfile) -> tuple[str, ...]:
        return (profile.id, *profile.tags, ALL)

    return _chosen(profiles, names, _terms(text) or [DEFAULT], DEFAULT, "sampling profile")


def choose_strategies(strategies: Sequence[Strategy], text: str) -> tuple[Strategy, ...]:
    def names(strategy: Strategy) -> tuple[str, ...]:
        return (strategy.id, ALL)

    return _chosen(strategies, names, _terms(text) or [DEFAULT], DEFAULT, "strategy")


def choose_scenarios(suite: Suite, text: str) -> tuple[Scenario, ...]:
    """By id, tag, or one of the suite's presets. A suite that names no default means all of it."""
    presets = {DEFAULT: tuple(scenario.id for scenario in suite.scenarios), **suite.presets}

    def names(scenario: Scenario) -> tuple[str, ...]:
        within = (name for name, members in presets.items() if scenario.id in members)
        return (scenario.id, *scenario.tags, *within, ALL)

    return _chosen(suite.scenarios, names, _terms(text) or [DEFAULT], DEFAULT, f"scenario of {suite.name}")


def _terms(text: str) -> list[str]:
    return [term for part in text.split(",") if (term := part.strip())]


def _chosen(
    items: Iterable[_T], names_of: Callable[[_T], tuple[str, ...]], terms: list[str], default: str, what: str
) -> tuple[_T, ...]:
    """In the order of the catalogue, each once."""
    named = [(item, tuple(name.lower() for name in names_of(item))) for item in items]
    wanted = [term.lower() for term in terms if not term.startswith("!")] or [default]
    unwanted = [term.lower().removeprefix("!").strip() for term in terms if term.startswith("!")]
    for term in (*wanted, *unwanted):
        if not any(_matches(term, names) for _, names in named):
            known = list(dict.fromkeys(name for item, _ in named for name in names_of(item) if name))
            hint = did_you_mean(term, known) or f"there are {', '.join(known[:40])}"
            raise ConfigError(f"There is no {what} {term!r}.", hint=hint)
    found = tuple(
        item
        for item, names in named
        if any(_matches(term, names) for term in wanted) and not any(_matches(term, names) for term in unwanted)
    )
    if not found:
        raise ConfigError(f"{','.join(terms)!r} leaves no {what}.")
    return found


def _matches(term: str, names: tuple[str, ...]) -> bool:
    return any(fnmatchcase(name, term) for name in names)
