"""From knobs to a plan: the suite, who is tried, and under which settings. It asks nobody and writes nothing."""

from datetime import datetime
from types import MappingProxyType

import msgspec

from groundwire import __version__
from groundwire.assembly import Settings
from groundwire.contracts.errors import ConfigError
from groundwire.contracts.shapes import read_as
from groundwire.evals.catalogue import BASELINE, SIMULATED, TAG_FALLBACK, Catalogue, open_catalogue, simulated_entry
from groundwire.evals.filters import choose_models, choose_profiles, choose_scenarios, choose_strategies
from groundwire.evals.knobs import Knobs
from groundwire.evals.loading import Suites, find_suite
from groundwire.evals.planning import EvalModel, Plan, SamplingProfile, Strategy
from groundwire.evals.reaching import OPENROUTER
from groundwire.evals.records import EvalRun, new_run_id
from groundwire.evals.scenarios import Suite
from groundwire.runtime.runs.presets import PRESETS
from groundwire.runtime.runs.settings import read_settings


def prepare(
    knobs: Knobs, settings: Settings, *, now: datetime, run_id: str = "", suites: Suites = MappingProxyType({})
) -> Plan:
    """What these knobs mean here. A ConfigError says which of them cannot be followed. `suites` are those of applications."""
    suite, meant = find_suite(knobs.suite, knobs.options, suites)
    catalogue = offered(open_catalogue(settings.models, settings.evals, knobs.catalogue), suite)
    models = _models(knobs, catalogue, suite)
    strategies = choose_strategies(catalogue.strategies, knobs.strategies)
    read_settings(knobs.settings)
    _refuse_contradiction(knobs, strategies)
    _refuse_unpriced(knobs, models)
    scenarios = choose_scenarios(suite, knobs.scenarios or meant)
    profiles = tuple(knobs.over(profile) for profile in choose_profiles(catalogue.profiles, knobs.profiles))
    run = EvalRun(
        run_id=run_id or new_run_id(now),
        suite=suite.name,
        models=tuple(model.id for model in models),
        profiles=tuple(profile.id for profile in profiles),
        strategies=tuple(strategy.id for strategy in strategies),
        scenarios=tuple(scenario.id for scenario in scenarios),
        trials=knobs.trials,
        seed=knobs.seed,
        is_live=any(not model.is_simulated for model in models),
        version=__version__,
        created_at=now.isoformat(timespec="seconds"),
        notes={model.id: note for model in models if (note := _note(model))},
        asked=msgspec.to_builtins(knobs),
    )
    plan = Plan(
        run=run,
        suite=suite,
        scenarios=scenarios,
        models=models,
        profiles=profiles,
        strategies=strategies,
        settings=knobs.settings,
        enforce_applicability=knobs.enforce_applicability,
        judge=knobs.judge or (suite.judge if run.is_live else ""),
        options=knobs.options,
    )
    if not plan.trials():
        raise ConfigError("Nothing is left to try.", hint=_why_nothing(models, profiles))
    return plan


def prepare_again(run: EvalRun, settings: Settings, *, now: datetime, suites: Suites = MappingProxyType({})) -> Plan:
    """The plan of a run that was begun: the same trials, whatever the environment says today."""
    plan = prepare(knobs_of(run), settings, now=now, run_id=run.run_id, suites=suites)
    for what in ("suite", "models", "profiles", "strategies", "scenarios", "trials", "seed"):
        before, after = getattr(run, what), getattr(plan.run, what)
        if before != after:
            message = f"The run cannot be gone on with: its {what} were {before!r}, and would now be {after!r}."
            raise ConfigError(message, hint="the suite or the catalogue has changed; begin a new run")
    return msgspec.structs.replace(plan, run=run)


def knobs_of(run: EvalRun) -> Knobs:
    return read_as(Knobs, run.asked, "run.json: asked")


def offered(catalogue: Catalogue, suite: Suite) -> Catalogue:
    """With the suite's own offline models in place of those that ship, which could not follow it."""
    if not suite.models:
        return catalogue
    known = {model.id: model for model in catalogue.models if model.is_simulated}
    own = tuple(known.get(name) or simulated_entry(name, "") for name in suite.models)
    real = tuple(model for model in catalogue.models if not model.is_simulated and model.id not in suite.models)
    return msgspec.structs.replace(catalogue, models=(*own, *real))


def _models(knobs: Knobs, catalogue: Catalogue, suite: Suite) -> tuple[EvalModel, ...]:
    """Without a filter nobody real is asked, unless somebody says so. What no model would achieve is always shown, but
    not beside a suite's own models, which are no claim of what a model can do."""
    default = "stable" if knobs.live else next(iter(suite.models), SIMULATED)
    chosen = choose_models(catalogue.models, knobs.models, default=default)
    if knobs.live and all(model.is_simulated for model in chosen):
        raise ConfigError(f"--live asks real models, and {knobs.models!r} names none.", hint="--models stable")
    if all(model.id in suite.models for model in chosen):
        return chosen
    baseline = next((model for model in catalogue.models if model.id == BASELINE), None)
    if baseline is None:
        return chosen
    is_unwanted = baseline in chosen or f"!{BASELINE}" in knobs.models.replace(" ", "").split(",")
    return chosen if is_unwanted else (*chosen, baseline)


def _refuse_contradiction(knobs: Knobs, strategies: tuple[Strategy, ...]) -> None:
    fallback = read_settings(PRESETS[TAG_FALLBACK]()).response_transforms
    is_forced = set(fallback) <= set(read_settings(knobs.settings).response_transforms)
    if is_forced and any(TAG_FALLBACK in strategy.without_presets for strategy in strategies):
        raise ConfigError(
            "The fallback for calls in text is switched on for every trial, so that fallback_off would have it too.",
            hint="leave OPENROUTER_ENABLE_CONTENT_TAG_TOOL_CALL_FALLBACK unset to compare",
        )


def _refuse_unpriced(knobs: Knobs, models: tuple[EvalModel, ...]) -> None:
    unknown = [model.id for model in models if model.prices is None and model.via != OPENROUTER]
    if knobs.max_cost is not None and unknown:
        message = f"A limit of cost means nothing for {unknown[0]}, whose price is not known."
        raise ConfigError(message, hint="prices = { input = …, output = … } in its entry")


def _note(model: EvalModel) -> str:
    presets = f"with {', '.join(model.presets)}" if model.presets else ""
    return "; ".join(part for part in (model.note, presets) if part)


def _why_nothing(models: tuple[EvalModel, ...], profiles: tuple[SamplingProfile, ...]) -> str:
    if not any(profile.fits(model) for profile in profiles for model in models):
        return "no sampling profile suits a model; OPENROUTER_SAMPLING_PROFILE_ENFORCE_APPLICABILITY=0 uses them anyway"
    return "scenarios with faults are for simulated models"
