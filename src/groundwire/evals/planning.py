"""From models, profiles, strategies and scenarios to trials. What is planned depends on nothing but what is given."""

import hashlib
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase

import msgspec
from msgspec import Struct, field

from groundwire.contracts.canonical import JsonObject
from groundwire.contracts.requests import Sampling
from groundwire.evals.records import EvalRun, Trial
from groundwire.evals.scenarios import Scenario, Suite
from groundwire.providers.catalogue import Prices, ToolCalling


class EvalModel(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """A model that can be tried. `id` is how it is asked for; `base_id` the same without a route such as `:nitro`.

    `provider` is whose model it is, `via` the provider of the settings that is asked for it.
    """

    id: str
    base_id: str = ""
    aliases: tuple[str, ...] = ()
    provider: str = ""
    via: str = "openrouter"
    tags: tuple[str, ...] = ()
    capabilities: frozenset[str] = frozenset()
    tool_calling: ToolCalling = ToolCalling.UNKNOWN
    presets: tuple[str, ...] = ()
    prices: Prices | None = None
    is_simulated: bool = False
    by_name: bool = False
    """It is tried where its id or an alias is given, and never because it is one of several."""
    note: str = ""


class SamplingProfile(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """How a model's words are chosen. It runs on models that one of `applies_to` matches, unless that is switched off."""

    id: str
    tags: tuple[str, ...] = ()
    temperature: float | None = None
    top_p: float | None = None
    top_k: int | None = None
    min_p: float | None = None
    applies_to: tuple[str, ...] = ("*",)

    def sampling(self) -> Sampling:
        return Sampling(temperature=self.temperature, top_p=self.top_p, top_k=self.top_k)

    def settings(self) -> JsonObject:
        """What the canonical sampling cannot say."""
        return {} if self.min_p is None else {"request_overrides": {"min_p": self.min_p}}

    def fits(self, model: EvalModel) -> bool:
        names = (model.id, model.base_id or model.id)
        return any(fnmatchcase(name, pattern) for name in names for pattern in self.applies_to)


class Strategy(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """Settings that are compared with others. Presets of a model that `without_presets` names are left out."""

    id: str
    settings: JsonObject = field(default_factory=dict)
    without_presets: tuple[str, ...] = ()


class Plan(Struct, frozen=True, kw_only=True):
    run: EvalRun
    suite: Suite
    scenarios: tuple[Scenario, ...]
    models: tuple[EvalModel, ...]
    profiles: tuple[SamplingProfile, ...]
    strategies: tuple[Strategy, ...]
    settings: JsonObject = field(default_factory=dict)
    """For every trial, over the scenario's own."""
    enforce_applicability: bool = True
    judge: str = ""
    """Who answers the questions of rubrics that name nobody."""
    options: JsonObject = field(default_factory=dict)
    """What the suite was asked for."""

    def trials_of(self, model: EvalModel) -> Iterator[Trial]:
        for profile in self.profiles:
            if self.enforce_applicability and not profile.fits(model):
                continue
            for strategy in self.strategies:
                for scenario in self.scenarios:
                    if scenario.faults and not model.is_simulated:
                        continue  # nothing goes wrong by plan with a real one
                    for number in range(1, self.run.trials + 1):
                        yield Trial(
                            model=model.id,
                            profile=profile.id,
                            strategy=strategy.id,
                            scenario=scenario.id,
                            number=number,
                        )

    def trials(self) -> list[Trial]:
        return [trial for model in self.models for trial in self.trials_of(model)]


def seed_of(run_seed: int, trial: Trial) -> int:
    """The same for the same trial in every run with this seed, whatever else is run."""
    text = f"{run_seed}|{trial.profile}|{trial.strategy}|{trial.scenario}|{trial.number}|{trial.model}"
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4]) >> 1


def digest_of(trial: Trial, seed: int, parts: Sequence[object], version: str) -> str:
    """Of all that the result of a trial depends on."""
    encoded = msgspec.json.encode([trial, seed, version, parts], enc_hook=_name_of, order="sorted")
    return hashlib.sha256(encoded).hexdigest()


def _name_of(value: object) -> str:
    return f"{getattr(value, '__module__', '')}:{getattr(value, '__qualname__', repr(value))}"
