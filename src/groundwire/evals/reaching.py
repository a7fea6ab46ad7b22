"""How models are reached: simulated ones in this process, real ones at whoever the settings and the environment name.

All simulated models share one simulator, except in scenarios that need one of their own. Keys stay with the provider
that sends them; nothing that a run writes down knows one.
"""

from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager

from msgspec import Struct
from msgspec.structs import replace

from groundwire.assembly import Settings, list_providers, open_models
from groundwire.contracts.errors import ConfigError
from groundwire.contracts.ports import Provider
from groundwire.contracts.replies import Usage
from groundwire.contracts.shapes import did_you_mean
from groundwire.evals.catalogue import SIMULATED
from groundwire.evals.contestants import Contestant
from groundwire.evals.graders.rubrics import Judges
from groundwire.evals.planning import EvalModel, Plan
from groundwire.evals.running import Reach
from groundwire.evals.scenarios import RubricCheck, Scenario
from groundwire.extras import needs_extra
from groundwire.providers.endpoints import VENDORS
from groundwire.providers.router import ModelRouter
from groundwire.providers.scripted import ScriptedModel, ScriptedProvider
from groundwire.runtime.clock import SystemClock

OPENROUTER = "openrouter"


class Reached(Struct, frozen=True, kw_only=True):
    reach: Reach
    judges: Judges


def require_reachable(models: Sequence[EvalModel], settings: Settings, environ: Mapping[str, str]) -> None:
    """A ConfigError where a real model has nobody to ask for it. Opens nothing."""
    ready = {info.name for info in list_providers(settings, environ) if info.has_key or not info.key_env}
    for model in models:
        if model.is_simulated or model.via in ready:
            continue
        if model.via == OPENROUTER:
            raise ConfigError(
                f"{model.id} is a real model, and OPENROUTER_API_KEY is not set.",
                hint=f"set it, or leave --live out and choose --models {SIMULATED}",
            )
        missing = f"set {model.via.upper()}_API_KEY" if model.via in VENDORS else ""
        hint = missing or did_you_mean(model.via, ready) or f"there are {', '.join(sorted(ready))}"
        raise ConfigError(f"{model.id} is asked at {model.via!r}, which is not set up.", hint=hint)


@asynccontextmanager
async def open_reach(plan: Plan, settings: Settings, environ: Mapping[str, str]) -> AsyncIterator[Reached]:
    """Everybody whom the plan needs, until it is carried out."""
    require_reachable(plan.models, settings, environ)
    async with AsyncExitStack() as stack:
        router = open_models(settings, environ=environ)
        stack.push_async_callback(router.close)
        judges = _judges(plan, router)
        for name in _asked_besides(plan):
            judges(name)
        simulators = _simulators()
        shared: ModelRouter | None = None
        own = plan.suite.models
        if any(model.is_simulated and model.id not in own for model in plan.models):
            shared = await stack.enter_async_context(simulators([plan.suite]))
        openings = Counter(scenario.turns[:1] for scenario in plan.suite.scenarios)

        @asynccontextmanager
        async def reach(model: EvalModel, scenario: Scenario) -> AsyncIterator[Contestant]:
            name = f"{model.via}/{model.id}"
            if model.is_simulated and model.id in own:
                answers = ScriptedModel(otherwise=own[model.id](scenario))
                yield _simulated(name, model, ScriptedProvider(answers, clock=SystemClock(), name=SIMULATED))
            elif not model.is_simulated or shared is None:
                yield Contestant(name=name, models=router, price=price_of(model))
            elif scenario.faults or openings[scenario.turns[:1]] > 1:
                # Faults are counted by request; and simulated models know a scenario by how it begins.
                alone = replace(plan.suite, scenarios=(scenario,))
                async with simulators([alone], faults=scenario.faults) as faulty:
                    yield _simulated(name, model, faulty)
            else:
                yield _simulated(name, model, shared)

        yield Reached(reach=reach, judges=judges)


def _simulated(name: str, model: EvalModel, models: Provider) -> Contestant:
    return Contestant(name=name, models=models, price=price_of(model), is_simulated=True)


def price_of(model: EvalModel) -> Callable[[str, Usage], float | None]:
    """What the reply itself says that it cost, as OpenRouter's do; else by the prices of the catalogue."""

    def price(_name: str, usage: Usage) -> float | None:
        said = usage.private.get("openai-chat", {}).get("cost")
        if isinstance(said, (int, float)) and not isinstance(said, bool) and said >= 0:
            return float(said)
        return None if model.prices is None else model.prices.cost_of(usage)

    return price


def _asked_besides(plan: Plan) -> set[str]:
    """Judges, and models that play users."""
    rubrics = (check for scenario in plan.scenarios for check in scenario.checks if isinstance(check, RubricCheck))
    players = (scenario.user for scenario in plan.scenarios if scenario.user is not None)
    users = {user.model for user in players if user.model or user.role}
    asked = {check.judge for check in (*rubrics, *(plan.suite.rubrics if plan.run.is_live else ()))}
    return {*asked, *users, *((plan.judge,) if plan.judge else ())}


def _judges(plan: Plan, router: ModelRouter) -> Judges:
    """A scenario's own judge costs money too, so it is asked only where somebody has agreed to that."""
    routes = {model.id: f"{model.via}/{model.id}" for model in plan.models if not model.is_simulated}

    def judge(named: str) -> tuple[Provider, str]:
        name = named or plan.judge
        if not name:
            raise ConfigError("A rubric needs a judge.", hint="--judge MODEL")
        if not (plan.run.is_live or plan.judge):
            raise ConfigError(f"The scenarios ask {name}, a real model.", hint="--live, or --judge MODEL")
        route = routes.get(name, name)
        if not router.locate(route)[0]:
            raise ConfigError(f"The model {name!r} that judges or plays a user is not known.", hint="groundwire models")
        return router, route

    return judge


def _simulators() -> Callable[..., AbstractAsyncContextManager[ModelRouter]]:
    with needs_extra("evals", "A simulated model"):
        from groundwire.evals.simulated import simulated_models
    return simulated_models
