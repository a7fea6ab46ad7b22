"""Options of one run over those of its agent, and prices from the catalogue."""

import math

import pytest

from groundwire import (
    Agent,
    ConfigError,
    ModelRequest,
    Outcome,
    OutputFormat,
    RunLimits,
    RunSettings,
    Settings,
    open_models,
    tool,
)
from groundwire.providers.catalogue import ModelEntry, Prices
from groundwire.runtime.runs.options import RunOptions, read_options
from groundwire.testing import Answer, Ask, ScriptedModel, ScriptedProvider, runtime_for


@tool(category="utility")
async def look(place: str) -> dict[str, str]:
    """Look."""
    return {"seen": place}


class Listening:
    """A provider that keeps what it was asked and sent with."""

    def __init__(self, *answers):
        self.asked: list[ModelRequest] = []
        self.options = []
        self._inner = None
        self._model = ScriptedModel(*answers)

    async def complete(self, request, options=None):
        self.asked.append(request)
        self.options.append(options)
        return self._model.reply(request)

    async def close(self):
        pass


async def test_single_settings_of_a_run_change_those_of_the_agent():
    models = Listening(*["Well."] * 3)
    agent = Agent(
        "any", runtime=runtime_for(look), models=models, settings={"request_overrides": {"route": "x"}}, limits={"max_steps": 3}
    )  # fmt: skip
    await agent.run("One.")
    await agent.run("Two.", settings={"tool_use_mode": "disabled"}, limits={"max_seconds": 5.0})
    await agent.run("Three.", settings=RunSettings())
    assert [len(request.tools) for request in models.asked] == [1, 0, 1]
    assert [options.overrides for options in models.options] == [{"route": "x"}, {"route": "x"}, {}]


async def test_the_limits_of_an_agent_hold_beside_those_of_a_run():
    calls = Answer(calls=(Ask("look", {"place": "a"}),))
    agent = Agent("any", runtime=runtime_for(look), models=Listening(calls, calls), limits={"max_steps": 1})
    assert (await agent.run("Go.", limits={"max_seconds": 60.0})).outcome is Outcome.STEP_LIMIT


async def test_a_run_costs_what_the_catalogue_says_and_stops_at_its_limit():
    settings = Settings(models=(ModelEntry(id="dear", provider="sim", prices=Prices(input=1e6, output=2e6)),))
    models = open_models(settings, environ={})
    agent = Agent("dear", runtime=runtime_for(look), models=models)
    first = await agent.run("Look at Oslo.", limits={"max_steps": 1})
    assert first.cost == first.usage.input * 1.0 + first.usage.output * 2.0 > 0
    reached = await agent.run("Look at Oslo.", limits={"max_cost": first.cost})
    assert (reached.outcome, reached.steps, reached.cost) == (Outcome.COST_LIMIT, 1, first.cost)
    not_reached = await agent.run("Look at Oslo.", limits={"max_cost": first.cost + 0.5})
    assert (not_reached.outcome, not_reached.steps) == (Outcome.COMPLETED, 2)
    await models.close()


async def test_a_model_without_a_price_costs_an_unknown_amount():
    runtime = runtime_for(look)
    agent = Agent("any", runtime=runtime, models=ScriptedProvider(ScriptedModel("Well."), clock=runtime.clock))
    assert (await agent.run("Hello.")).cost is None


class Anything:
    pass


CIRCLE = []
CIRCLE.append(CIRCLE)


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"output": Anything}, "the form of an answer cannot be <class"),
        ({"output": 7}, "the form of an answer cannot be 7"),
        ({"settings": 7}, "settings: they cannot be 7"),
        ({"limits": 7}, "options of the run: limits: expected `object`, got `int`"),
        ({"limits": Anything()}, "options of the run: limits: it cannot be <"),
        ({"sampling": Anything()}, "options of the run: sampling: it cannot be <"),
        ({"limits": {"max_steps": "x"}}, "options of the run: limits.max_steps: it must be a whole number at least 1"),
        (
            {"limits": {"max_seconds": -1}},
            "options of the run: limits.max_seconds: it must be a number more than 0, at most 1 000 000 000$",
        ),
        (
            {"limits": {"max_seconds": math.inf}},
            "options of the run: limits.max_seconds: it must be a number more than 0",
        ),
        (
            {"limits": RunLimits(max_seconds=math.nan)},
            "options of the run: limits.max_seconds: it must be a number more than 0",
        ),
        ({"limits": RunLimits(max_cost=Anything())}, "options of the run: limits.max_cost: it cannot be <"),
        ({"settings": {"tool_denylist": [1]}}, r"settings: tool_denylist\[0\]: expected `str`, got `int`"),
        ({"settings": {"request_overrides": {"a": [b"b"]}}}, r"settings: request_overrides.a\[0\]: it cannot be b'b'"),
        ({"settings": RunSettings(request_overrides={1: 2})}, "settings: request_overrides: 1 is no name"),
        ({"settings": {"request_overrides": {"a": math.nan}}}, "settings: request_overrides.a: it cannot be nan"),
        (
            {"supplied": {"a": CIRCLE}},
            r"options of the run: supplied.a(\[0\])*: it is nested more than 100 levels deep",
        ),
        ({"supplied": {"a": "\ud800"}}, "options of the run: supplied.a: it holds half a character"),
        (
            {"output": OutputFormat(type="schema", schema={"a": {1}})},
            "options of the run: output.schema.a: it cannot be",
        ),
    ],
)
async def test_options_of_a_kind_that_they_cannot_be_are_refused_by_name(change, fault):
    with pytest.raises(ConfigError, match=f"^{fault}"):
        Agent("any", models=Listening(), **change)
    async with Agent("any", models=Listening()) as agent:
        with pytest.raises(ConfigError, match=f"^{fault}"):
            await agent.run("Go.", **change)


def test_stored_options_of_a_later_version_are_read_as_far_as_they_are_known():
    options = RunOptions(model="m", settings=RunSettings(tool_choice="none"), limits=RunLimits(max_steps=3))
    stored = options.as_json()
    later = {
        **stored,
        "colour": "blue",
        "settings": {**stored["settings"], "colour": "blue"},
        "limits": {**stored["limits"], "max_colours": 3},
    }
    assert read_options(later) == read_options(stored) == options
