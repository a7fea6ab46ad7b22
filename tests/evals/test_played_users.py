"""Customers who are played by a model."""

from groundwire.evals.contestants import Contestant
from groundwire.evals.records import Trial
from groundwire.evals.scenarios import Scenario, SimulatedUser
from groundwire.evals.trials import carry_out
from groundwire.testing import FakeClock, ScriptedModel, ScriptedProvider


async def test_who_has_a_role_and_no_model_is_played_by_the_judge_of_the_evaluation():
    asked = []
    customer = ScriptedProvider(ScriptedModel("I want tea.", "Thank you. ###END###"), clock=FakeClock())

    def judges(name):
        asked.append(name)
        return customer, "sim/judge"

    scenario = Scenario(id="tea", user=SimulatedUser(role="You want tea."))
    model = ScriptedProvider(ScriptedModel("Here is tea."), clock=FakeClock())
    trial = Trial(model="m", profile="p", strategy="s", scenario="tea", number=1)
    record = await carry_out(trial, scenario, Contestant(name="sim/m", models=model), seed=1, judges=judges)
    assert (record.status, record.text, asked) == ("passed", "Here is tea.", ["", ""])
