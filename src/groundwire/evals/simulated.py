"""Models that are simulated, each with one known weakness: they prove that the harness sees what it should.

They read which scenario it is from the conversation and know its ideal answers; the seed of the request decides where
chance does. They are served over a real socket in OpenAI's dialect, so that everything between is the real thing.
"""

import random
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager

import msgspec
from msgspec.structs import replace

from groundwire.assembly import ProviderSettings, Settings, open_models
from groundwire.contracts.messages import Item, Message
from groundwire.contracts.requests import ModelRequest
from groundwire.evals.catalogue import BASELINE, SIMULATED
from groundwire.evals.scenarios import Scenario, Suite, said_before
from groundwire.providers.choosing import choose_answer
from groundwire.providers.faults import Fault, ModelFaults
from groundwire.providers.retries import RetryPolicy
from groundwire.providers.router import ModelRouter
from groundwire.providers.scripted import ScriptedModel, steps_taken
from groundwire.providers.scripts import Answer, Ask
from groundwire.simulator.app import Simulator

Behaviour = Callable[[Answer, ModelRequest, Scenario], Answer]

FLAKY_RATE = 0.9
LONG = 1000
"""Characters of arguments beyond which `long-arguments` does not find a shorter way."""
WRONG_WORDS = "I have taken care of it."


def _perfect(ideal: Answer, _request: ModelRequest, _scenario: Scenario) -> Answer:
    return ideal


def _flaky(ideal: Answer, request: ModelRequest, scenario: Scenario) -> Answer:
    """In one trial of ten it does not say what it was asked to say."""
    chance = random.Random(f"{request.sampling.seed}:{scenario.id}").random()  # noqa: S311 - repeatable, protects nothing
    return ideal if ideal.calls or chance < FLAKY_RATE else replace(ideal, text=WRONG_WORDS)


def _long_arguments(ideal: Answer, request: ModelRequest, scenario: Scenario) -> Answer:
    """It sends what was too long once more, and then claims that it is done."""
    step = step_of(request, scenario)
    before = scenario.ideal[step - 1] if 0 < step <= len(scenario.ideal) else None
    was_long = before is not None and any(len(msgspec.json.encode(call.arguments)) > LONG for call in before.calls)
    return before if was_long and before is not None else ideal


def _tags(ideal: Answer, _request: ModelRequest, _scenario: Scenario) -> Answer:
    """It writes its calls into the text."""
    if not ideal.calls:
        return ideal
    calls = [{"name": call.name, "arguments": call.arguments} for call in ideal.calls]
    text = "\n".join(f"<tool_call>{msgspec.json.encode(call).decode()}</tool_call>" for call in calls)
    return Answer(text=text)


def _empty_finals(ideal: Answer, _request: ModelRequest, _scenario: Scenario) -> Answer:
    return ideal if ideal.calls else Answer(text="")


BEHAVIOURS: dict[str, Behaviour] = {
    "perfect": _perfect,
    "flaky": _flaky,
    "long-arguments": _long_arguments,
    "tags": _tags,
    "empty-finals": _empty_finals,
}


def simulated_model(suites: Iterable[Suite], *, faults: tuple[Fault, ...] = ()) -> ScriptedModel:
    """What all of the simulated models say, by the name that is asked for."""
    known = {
        (*_said_by_user(said_before(scenario)), scenario.turns[0]): (scenario, suite)
        for suite in suites
        for scenario in suite.scenarios
        if scenario.turns
    }

    def answer(request: ModelRequest) -> Answer:
        said = _said_by_user(request.items)
        found = next((known[begun] for end in range(len(said), 0, -1) if (begun := said[:end]) in known), None)
        name = request.model.rpartition("/")[2]
        if name == BASELINE or found is None:
            baseline = found[1].baseline if found is not None else None
            return (baseline or _by_words)(request)
        scenario = found[0]
        step = step_of(request, scenario)
        ideal = scenario.ideal[min(step, len(scenario.ideal) - 1)] if scenario.ideal else _by_words(request)
        return BEHAVIOURS.get(name, _perfect)(ideal, request, scenario)

    return ScriptedModel(otherwise=answer, faults=ModelFaults(at=dict(enumerate(faults))) if faults else None)


@asynccontextmanager
async def simulated_models(suites: Iterable[Suite], *, faults: tuple[Fault, ...] = ()) -> AsyncIterator[ModelRouter]:
    """The same, behind a socket and a client."""
    async with Simulator(simulated_model(suites, faults=faults), keep=0) as running:
        simulated = ProviderSettings(base_url=running.openai_url, retry=RetryPolicy(first=0.0))
        models = open_models(Settings(providers={SIMULATED: simulated}), environ={})
        try:
            yield models
        finally:
            await models.close()


def step_of(request: ModelRequest, scenario: Scenario) -> int:
    """How far the script has come. Who was asked once more for an answer has given one that was not kept."""
    before = said_before(scenario)
    asked = len(_said_by_user(request.items)) - len(_said_by_user(before))
    return steps_taken(request.items) - steps_taken(before) + max(0, asked - len(scenario.turns))


def _by_words(request: ModelRequest) -> Answer:
    """The built-in choice: a tool by the words of the last message."""
    text, call = choose_answer(request)
    return Answer(text) if call is None else Answer(calls=(Ask(*call),))


def _said_by_user(items: Sequence[Item]) -> tuple[str, ...]:
    return tuple(item.text for item in items if isinstance(item, Message) and item.role == "user")
