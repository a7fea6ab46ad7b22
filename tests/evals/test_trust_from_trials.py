"""From trials to trust and back to a run: what simulated models showed is what they may do."""

from contextlib import asynccontextmanager

import pytest

from groundwire import Agent, Runtime, Settings, TrustSettings
from groundwire.contracts.trust import seal
from groundwire.evals.contestants import Contestant
from groundwire.evals.planning import EvalModel, Plan, SamplingProfile, Strategy
from groundwire.evals.records import EvalRun
from groundwire.evals.running import EvalRunner
from groundwire.evals.simulated import simulated_models
from groundwire.evals.suites import WORKSPACE
from groundwire.evals.trust import RunRecord, make_trust
from groundwire.evals.workspace import MemoryWorkspace, workspace_tools
from tests.evals.trusted import KEY, KEY_ENV

SCENARIOS = tuple(one for one in WORKSPACE.scenarios if one.id in ("missing_workspace_id", "happy_path_parallel"))
WARM = SamplingProfile(id="warm", temperature=0.7)


@asynccontextmanager
async def tried(*names, trials):
    run = EvalRun(
        run_id="r1", suite="workspace", models=names, profiles=("warm",), strategies=("off",),
        scenarios=tuple(one.id for one in SCENARIOS), trials=trials, seed=3,
    )  # fmt: skip
    plan = Plan(
        run=run,
        suite=WORKSPACE,
        scenarios=SCENARIOS,
        models=tuple(EvalModel(id=name, is_simulated=True) for name in names),
        profiles=(WARM,),
        strategies=(Strategy(id="off"),),
    )
    async with simulated_models([WORKSPACE]) as models:

        @asynccontextmanager
        async def reach(model, _scenario):
            yield Contestant(name=f"simulated/{model.id}", models=models)

        finished = await EvalRunner(plan, reach).run()
        yield models, [RunRecord(run_id="r1", record=record) for record in finished.records]


@pytest.mark.requirement("C-193")
async def test_what_a_model_showed_in_trials_is_what_it_may_do_in_a_run(tmp_path, monkeypatch):
    monkeypatch.setenv(KEY_ENV, KEY)
    async with tried("perfect", "tags", trials=25) as (models, records):
        trust = make_trust(records, now=1_800_000_000.0)
        assert {(one.model, one.profile, one.tool): one.trust.value for one in trust.cards} == {
            ("simulated/perfect", "warm", "state_patch"): "reliable",
            ("simulated/tags", "warm", "state_patch"): "deny",
        }
        assert [one.sampling for one in trust.cards] == [{"temperature": 0.7}] * 2
        file = tmp_path / "trust.json"
        file.write_bytes(seal(trust, KEY.encode()))
        store = MemoryWorkspace(document={"draft": {"author": "nobody"}})
        settings = Settings(trust=TrustSettings(file=str(file)))
        async with Runtime(workspace_tools(store), "memory://", settings=settings) as runtime:
            agent = Agent("simulated/perfect", runtime=runtime, models=models, sampling=WARM.sampling())
            [asked] = next(one for one in SCENARIOS if one.id == "missing_workspace_id").turns
            good = await agent.run(asked)
            hidden = await agent.run(asked, model="simulated/tags")
    assert (good.outcome, store.document["draft"]["author"]) == ("completed", "Mara")
    assert good.calls[0].call.name == "state_patch"
    why = "0 of 50 trials passed, so at 95 % certainty fewer than 50 % would, r1."
    told = {one.path: one.message for one in hidden.warnings if one.code == "trust_hidden"}
    assert told == {"tools.state_patch": f"it is not offered: simulated/tags (warm) is deny with state_patch: {why}"}
