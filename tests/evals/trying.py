"""A suite tried by simulated models, once each."""

from contextlib import asynccontextmanager

from groundwire.evals.contestants import Contestant
from groundwire.evals.planning import EvalModel, Plan, SamplingProfile, Strategy
from groundwire.evals.records import EvalRun
from groundwire.evals.running import EvalRunner
from groundwire.evals.simulated import simulated_models


async def try_suite(suite, *models, scenarios=None):
    """By model and scenario, what came of it."""
    chosen = tuple(one for one in suite.scenarios if scenarios is None or one.id in scenarios)
    run = EvalRun(
        run_id="r",
        suite=suite.name,
        models=models,
        profiles=("default",),
        strategies=("default",),
        scenarios=tuple(one.id for one in chosen),
        trials=1,
        seed=1,
    )
    plan = Plan(
        run=run,
        suite=suite,
        scenarios=chosen,
        models=tuple(EvalModel(id=model, is_simulated=True) for model in models),
        profiles=(SamplingProfile(id="default"),),
        strategies=(Strategy(id="default"),),
    )
    async with simulated_models([suite]) as provider:

        @asynccontextmanager
        async def reach(model, scenario):
            yield Contestant(name=f"simulated/{model.id}", models=provider)

        finished = await EvalRunner(plan, reach).run()
    return {(record.trial.model, record.trial.scenario): record for record in finished.records}


def told(records, model):
    """Per scenario, the status and the code."""
    return {name: (record.status.value, record.code) for (by, name), record in records.items() if by == model}
