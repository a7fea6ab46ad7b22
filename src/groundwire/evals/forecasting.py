"""What a plan would take, before anybody is asked: trials, tokens and dollars.

Tokens are those of each scenario carried out once by a simulated model that does everything right. Real ones think,
stumble and repeat, so it is a guess, and rather too low.
"""

from collections import Counter
from collections.abc import AsyncGenerator

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from groundwire.assembly import Settings
from groundwire.contracts.ports import Provider
from groundwire.contracts.replies import Reply, ReplyPart, Usage
from groundwire.contracts.requests import ModelRequest, SendOptions
from groundwire.evals.catalogue import SHIPPED, simulated_entry
from groundwire.evals.planning import EvalModel, Plan
from groundwire.evals.reaching import open_reach
from groundwire.evals.records import Tokens, Trial
from groundwire.evals.scenarios import RubricCheck, Scenario
from groundwire.evals.trials import carry_out

_NO_OPTIONS = SendOptions()
_IDEAL = next(model for model in SHIPPED.models if model.id == "perfect")


class Forecast(Struct, frozen=True, kw_only=True, rename="camel"):
    """For one model. `cost` is None where its price is not known."""

    model: str
    profiles: tuple[str, ...]
    trials: int
    tokens: Tokens
    cost: float | None


async def forecast(plan: Plan) -> tuple[Forecast, ...]:
    needed = await _tokens_needed(plan)
    return tuple(_of(model, plan, needed) for model in plan.models)


def _of(model: EvalModel, plan: Plan, needed: dict[str, Tokens]) -> Forecast:
    trials = list(plan.trials_of(model))
    times = Counter(trial.scenario for trial in trials)
    tokens = Tokens(
        input=sum(count * needed[scenario].input for scenario, count in times.items()),
        output=sum(count * needed[scenario].output for scenario, count in times.items()),
    )
    cost = None if model.prices is None else model.prices.cost_of(Usage(input=tokens.input, output=tokens.output))
    profiles = tuple(dict.fromkeys(trial.profile for trial in trials))
    return Forecast(model=model.id, profiles=profiles, trials=len(trials), tokens=tokens, cost=cost)


async def _tokens_needed(plan: Plan) -> dict[str, Tokens]:
    needed: dict[str, Tokens] = {}
    # Judges and models that play users are left out: only what the model itself would be asked is counted.
    scenarios = tuple(
        replace(scenario, checks=tuple(check for check in scenario.checks if not isinstance(check, RubricCheck)))
        for scenario in plan.scenarios
    )
    ideal = simulated_entry(next(iter(plan.suite.models)), "") if plan.suite.models else _IDEAL
    dry = replace(
        plan,
        models=(ideal,),
        judge="",
        run=replace(plan.run, is_live=False),
        scenarios=tuple(one for one in scenarios if not _has_player(one)),
    )
    async with open_reach(dry, Settings(), {}) as reached:
        for scenario in scenarios:
            if _has_player(scenario):
                needed[scenario.id] = Tokens()
                continue
            trial = Trial(model=ideal.id, profile="default", strategy="default", scenario=scenario.id, number=1)
            async with reached.reach(ideal, scenario) as contestant:
                models = _Measured(contestant.models)
                record = await carry_out(trial, scenario, replace(contestant, models=models), seed=1, suite=plan.suite)
            spoken = record.tokens
            needed[scenario.id] = Tokens(input=spoken.input + models.declared // 4, output=spoken.output)
    return needed


class _Measured:
    """Counts the characters that every request repeats and simulated models do not count: instructions and tools."""

    def __init__(self, models: Provider) -> None:
        self._models = models
        self.declared = 0

    async def complete(self, request: ModelRequest, options: SendOptions = _NO_OPTIONS) -> Reply:
        self._count(request)
        return await self._models.complete(request, options)

    def stream(self, request: ModelRequest, options: SendOptions = _NO_OPTIONS) -> AsyncGenerator[ReplyPart]:
        self._count(request)
        return self._models.stream(request, options)

    async def close(self) -> None:
        await self._models.close()

    def _count(self, request: ModelRequest) -> None:
        told = sum(len(part.text) for part in request.instructions)
        self.declared += told + len(msgspec.json.encode(request.tools))


def _has_player(scenario: Scenario) -> bool:
    return scenario.user is not None and bool(scenario.user.model or scenario.user.role)
