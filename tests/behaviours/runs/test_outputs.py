"""Answers of a given form: by a schema, or by a type that they become."""

import dataclasses

import msgspec
import pydantic
import pytest

from groundwire import Outcome, OutputFormat, tool
from groundwire.testing import Answer, Ask
from tests.behaviours.runs.stage import REMOTE, UPSTREAMS, staged

SCHEMA = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
    "required": ["city", "days"],
    "additionalProperties": False,
}
TEXT = '{"city": "Oslo", "days": 2}'


class Trip(msgspec.Struct):
    city: str
    days: int


@dataclasses.dataclass
class Journey:
    city: str
    days: int


class Tour(pydantic.BaseModel):
    city: str
    days: int

    @pydantic.field_validator("days")
    @classmethod
    def _is_even(cls, days):
        if days % 2:
            raise ValueError("tours have an even number of days")
        return days


@pytest.mark.parametrize("upstream", UPSTREAMS)
@pytest.mark.parametrize(
    ("output", "value"),
    [
        (SCHEMA, {"city": "Oslo", "days": 2}),
        (Trip, Trip("Oslo", 2)),
        (Journey, Journey("Oslo", 2)),
        (Tour, Tour(city="Oslo", days=2)),
    ],
)
async def test_an_answer_becomes_what_was_asked_for(upstream, output, value):
    async with staged(upstream, TEXT) as stage:
        result = await stage.agent(output=output).run("Where to?")
        assert (result.outcome, result.text, result.output) == (Outcome.COMPLETED, TEXT, value)
        asked = stage.script.asked[0].output
        assert (asked.type, sorted(asked.schema["properties"])) == ("schema", ["city", "days"])


@pytest.mark.parametrize("upstream", UPSTREAMS)
async def test_an_answer_of_a_given_form_may_come_after_calls(upstream):
    @tool(category="retrieval")
    def days_left() -> int:
        """Days that are left."""
        return 2

    async with staged(upstream, Answer(calls=(Ask("days_left"),)), TEXT) as stage:
        result = await stage.agent(tools=[days_left], output=Trip).run("Where to?")
        assert (result.output, len(result.calls)) == (Trip("Oslo", 2), 1)


@pytest.mark.parametrize("upstream", REMOTE)
@pytest.mark.parametrize(
    ("output", "text", "fault"),
    [
        (SCHEMA, "To Oslo!", "it is not JSON"),
        (Trip, '{"city": "Oslo"}', '"days" is a required property'),
        (Journey, '{"city": "Oslo", "days": "two"}', 'days: "two" is not of type "integer"'),
        (Tour, '{"city": "Oslo", "days": 3}', "tours have an even number of days"),
    ],
)
async def test_a_model_is_told_what_is_wrong_with_its_answer_and_answers_again(upstream, output, text, fault):
    async with staged(upstream, text, TEXT) as stage:
        agent = stage.agent(output=output)
        result = await agent.run("Where to?")
        assert (result.outcome, result.text) == (Outcome.COMPLETED, TEXT)
        wrong, told = stage.script.asked[1].items[-2:]
        assert (wrong.text, told.role, fault in told.text) == (text, "user", True)
        assert (await agent.replay(result.run_id)).differences == ()


async def test_a_fence_around_json_is_looked_past():
    async with staged("in-process", f"```json\n{TEXT}\n```") as stage:
        assert (await stage.agent(output=Trip).run("Where to?")).output == Trip("Oslo", 2)


async def test_a_run_may_ask_for_another_form_than_its_agent():
    async with staged("in-process", TEXT, TEXT, "To Oslo!", "[1, 2]") as stage:
        agent = stage.agent(output=Trip)
        assert (await agent.run("Where to?")).output == Trip("Oslo", 2)
        assert (await agent.run("Where to?", output=Journey)).output == Journey("Oslo", 2)
        assert (await agent.run("Where to?", output=None)).output is None
        assert (await agent.run("Numbers?", output=OutputFormat(type="json"))).output == [1, 2]


async def test_what_is_wrong_with_a_long_answer_is_said_in_short():
    long = '{"city": ["' + "x" * 50_000 + '"], "days": "' + "y" * 50_000 + '"}'
    async with staged("in-process", long, TEXT) as stage:
        result = await stage.agent(output=SCHEMA).run("Where to?")
        assert (result.outcome, result.text) == (Outcome.COMPLETED, TEXT)
        asked_again = stage.script.asked[1].items[-1].text
        assert asked_again.startswith('Your answer cannot be used: city: ["xxx')
        assert len(asked_again) < 1_000


async def test_a_model_that_takes_no_form_beside_tools_is_told_in_words_and_held_to_it_without_them():
    @tool(category="retrieval")
    def days_left() -> int:
        """Days that are left."""
        return 2

    async with staged("gemini-2.0", Answer(calls=(Ask("days_left"),)), "Two days in Oslo.", TEXT) as stage:
        result = await stage.agent(tools=[days_left], output=Trip, instructions="Be brief.").run("Where to?")
        assert (result.outcome, result.output) == (Outcome.COMPLETED, Trip("Oslo", 2))
        assert "format_approximated" in [warning.code for warning in result.warnings]
        assert [("tools" in body, "responseSchema" in body.get("generationConfig", {})) for body in stage.bodies] == [
            (True, False), (True, False), (False, True),
        ]  # fmt: skip
        brief, told = [part["text"] for part in stage.bodies[0]["systemInstruction"]["parts"]]
        assert brief == "Be brief."
        assert told.startswith("Your final answer")
        assert '"required":["city","days"]' in told
