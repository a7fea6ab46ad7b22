"""The relay: a client of Gemini that declares no tools, and a model that calls those of its session."""

import asyncio
import logging

import httpx2
import msgspec
import pytest
from google import genai

from groundwire.contracts.calls import ToolCall
from groundwire.contracts.messages import CallItem
from groundwire.contracts.requests import FunctionTool
from groundwire.contracts.servers import ServerSettings
from groundwire.gateway import RelayTables, Tables
from groundwire.gateway.relay_sessions import known_steps
from groundwire.gateway.relay_tables import CallRow, StepRow
from groundwire.providers.retries import RetryPolicy
from groundwire.providers.transport import Timeouts
from groundwire.store import open_url
from groundwire.testing import Answer, Ask, Fault, FaultKind, ModelFaults, Rule
from tests.gateway.conftest import UPSTREAMS, another_gateway
from tests.gateway.relayed import FLAT, OSLO, PLACEHOLDER, SCRIPT, TOKYO, TOOLS, session_of, texts_of

both = pytest.mark.parametrize("stream", [False, True], ids=["unary", "streamed"])


@both
@pytest.mark.requirement(
    "X-22", "X-30", "E-001", "E-005", "E-006", "E-019", "E-020", "E-021", "E-038", "E-042", "E-057", "E-058", "E-059",
    "E-060", "E-061", "E-062", "E-069", "E-070",
)  # fmt: skip
async def test_a_client_without_tools_gets_its_answer_and_the_model_its_call_and_result(gateway, stream):
    async with gateway(*SCRIPT, upstream="gemini") as running, session_of(running) as session:
        await session.offer(tools=TOOLS)
        said = await session.say("How is the weather?", stream=stream)
        calls = await session.calls()
        await session.answer(Tokyo={"temp": 22})
        final = await session.say("And?", stream=stream)
        body = running.upstream.requests[1].body
    assert (said, final) == (PLACEHOLDER, "It is sunny.")
    assert [(call["name"], call["args"]) for call in calls] == [("get_weather", {"city": "Tokyo"})]
    asked, called, answered, follow_up = body["contents"]
    assert (asked["parts"], follow_up["parts"]) == ([{"text": "How is the weather?"}], [{"text": "And?"}])
    function = called["parts"][0]["functionCall"]
    assert (called["role"], function["name"], function["args"]) == ("model", "get_weather", {"city": "Tokyo"})
    assert called["parts"][0]["thoughtSignature"]
    response = {"id": function["id"], "name": "get_weather", "response": {"temp": 22}}
    assert answered == {"role": "user", "parts": [{"functionResponse": response}]}
    assert PLACEHOLDER not in texts_of(body)
    assert body["tools"] == TOOLS


@both
@pytest.mark.parametrize("upstream", UPSTREAMS)
async def test_every_upstream_gets_its_own_calls_and_thoughts_back(gateway, upstream, stream):
    script = (Answer("Let me see.", reasoning="Two.", calls=(TOKYO, OSLO)), Answer("Sunny."))
    thanked = Rule("Thanks", "Welcome.")
    async with gateway(*script, upstream=upstream, rules=(thanked,)) as running, session_of(running) as session:
        await session.offer(tools=[FLAT])
        said = await session.say("How is the weather?", stream=stream)
        await session.answer(Tokyo={"temp": 22}, Oslo={"temp": 3})
        final = [await session.say(text, stream=stream) for text in ("And?", "Thanks.")]
        second, third = (request.body for request in running.upstream.requests[1:])
    assert (said, final) == (f"Let me see.{PLACEHOLDER}", ["Sunny.", "Welcome."])
    for body in (second, third):
        assert PLACEHOLDER not in str(body)
        assert str(body).index("Tokyo") < str(body).index("Oslo") < str(body).index("22") < str(body).index("And?")
    proofs = {"anthropic": "'signature'", "gemini": "'thoughtSignature'", "openai-responses": "'encrypted_content'"}
    assert proofs.get(upstream, "'tool_calls'") in str(second)


@both
@pytest.mark.requirement("E-019", "E-104")
async def test_a_follow_up_is_held_until_all_results_are_there(gateway, stream):
    async with (
        gateway(Answer(calls=(TOKYO, OSLO)), "Sunny.", upstream="gemini") as running,
        session_of(running) as session,
    ):
        await session.offer(tools=TOOLS)
        await session.say("How is the weather?")
        follow_up = asyncio.create_task(session.say("And?", stream=stream))
        for call in await session.calls():
            assert len(running.upstream.requests) == 1
            assert not follow_up.done()
            await session.post({"id": call["id"], "response": {}})
        assert await follow_up == "Sunny."
        assert len(running.upstream.requests) == 2


@both
async def test_a_follow_up_that_waited_in_vain_reads_the_placeholder_again_and_nobody_is_asked(gateway, stream):
    server = ServerSettings(relay_wait=0)
    async with gateway(*SCRIPT, upstream="gemini", server=server) as running, session_of(running) as session:
        await session.offer(tools=TOOLS)
        said = [await session.say(text, stream=stream) for text in ("How is the weather?", "And?")]
        assert len(running.upstream.requests) == 1
        await session.answer(Tokyo={"temp": 22})
        final = await session.say("Now?", stream=stream)
        body = running.upstream.requests[1].body
    assert (said, final) == ([PLACEHOLDER, PLACEHOLDER], "It is sunny.")
    assert [next(iter(part)) for content in body["contents"] for part in content["parts"]] == [
        "text", "functionCall", "functionResponse", "text", "text",
    ]  # fmt: skip


async def test_the_placeholder_is_a_setting(gateway):
    server = ServerSettings(relay_placeholder="One moment.")
    async with gateway(*SCRIPT, upstream="gemini", server=server) as running, session_of(running) as session:
        await session.offer(tools=TOOLS)
        said = await session.say("How is the weather?")
        await session.answer(Tokyo={})
        await session.say("And?")
        body = running.upstream.requests[1].body
    assert said == "One moment."
    assert "One moment." not in texts_of(body)


async def test_a_client_that_asks_the_same_again_instead_of_going_on_gets_its_answer_too(gateway):
    script = (Answer(calls=(TOKYO,)), Answer(calls=(OSLO,)), "Sunny.", Answer(calls=(TOKYO,)))
    async with gateway(*script, upstream="gemini") as running, session_of(running) as session:
        await session.offer(tools=TOOLS)
        said = []
        for _ in range(4):
            response = await session.client.aio.models.generate_content(model=running.model, contents="Weather?")
            said.append(response.text)
            await session.answer(Tokyo={"temp": 22}, Oslo={"temp": 3})
        third, fourth = (request.body["contents"] for request in running.upstream.requests[2:])
    assert said == [PLACEHOLDER, PLACEHOLDER, "Sunny.", PLACEHOLDER]
    assert [content["role"] for content in third] == ["user", "model", "user", "model", "user"]
    assert len(fourth) == 1


@pytest.mark.requirement("X-20", "E-015", "E-034")
async def test_two_sessions_that_go_on_in_turns_never_mix(gateway):
    rules = [Rule(city, Answer(calls=(Ask("get_weather", {"city": city}),))) for city in ("Tokyo", "Oslo")]
    rules += [Rule("there", "Hot."), Rule("here", "Cold.")]
    async with (
        gateway(upstream="gemini", rules=rules) as running,
        session_of(running, "a") as one,
        session_of(running, "b") as two,
    ):
        for session, city in ((one, "Tokyo"), (two, "Oslo")):
            await session.offer(tools=TOOLS)
            await session.say(f"How is the weather in {city}?")
        await two.answer(Oslo={"temp": 3})
        await one.answer(Tokyo={"temp": 30})
        said = [await one.say("And there?"), await two.say("And here?")]
        ours, theirs = (str(request.body) for request in running.upstream.requests[2:])
    assert said == ["Hot.", "Cold."]
    assert ("Tokyo" in ours, "Oslo" in ours, "Tokyo" in theirs, "Oslo" in theirs) == (True, False, False, True)


@pytest.mark.requirement("E-001", "E-034", "E-042", "E-104", "E-044")
async def test_any_process_serves_any_step(gateway, shared_store):
    async with (
        gateway(*SCRIPT, upstream="gemini", store=shared_store) as running,
        another_gateway(running) as other,
        session_of(running) as here,
        session_of(other) as there,
    ):
        await there.offer(tools=TOOLS)
        said = await here.say("How is the weather?")
        held = asyncio.create_task(here.say("And?"))
        await there.answer(Tokyo={"temp": 22})
        final = await held
        body = running.upstream.requests[1].body
    assert (said, final) == (PLACEHOLDER, "It is sunny.")
    assert [next(iter(part)) for content in body["contents"] for part in content["parts"]] == [
        "text", "functionCall", "functionResponse", "text",
    ]  # fmt: skip


@both
async def test_results_are_not_lost_when_the_model_fails(gateway, stream):
    faults = ModelFaults(at={1: Fault(kind=FaultKind.STATUS, status=503)})
    async with gateway(
        *SCRIPT, upstream="gemini", faults=faults, retry=RetryPolicy(attempts=1)
    ) as running, session_of(running) as session:  # fmt: skip
        await session.offer(tools=TOOLS)
        await session.say("How is the weather?")
        await session.answer(Tokyo={"temp": 22})
        with pytest.raises(genai.errors.ServerError):
            await session.say("And?", stream=stream)
        final = await session.say("Once more?", stream=stream)
        body = running.upstream.requests[-1].body
    assert final == "It is sunny."
    assert "functionResponse" in str(body)


@pytest.mark.requirement("E-103", "OQ-43")
async def test_a_turn_with_results_has_a_time_limit_of_its_own_that_is_longer(gateway):
    faults = ModelFaults(at={1: Fault(kind=FaultKind.TIMEOUT)})
    options = {"server": ServerSettings(result_timeout=0.2), "retry": RetryPolicy(attempts=1)}
    async with gateway(*SCRIPT, upstream="gemini", faults=faults, **options) as running, session_of(running) as session:
        await session.offer(tools=TOOLS)
        await session.say("How is the weather?")
        await session.answer(Tokyo={"temp": 22})
        with pytest.raises(genai.errors.ServerError) as late:
            await session.say("And?")
    assert late.value.code == 504
    assert ServerSettings().result_timeout == 300 > Timeouts().total


@pytest.mark.requirement("E-102", "OQ-42")
async def test_results_without_a_place_are_kept_and_the_log_says_why(gateway, caplog):
    other_rule = Rule("Something else", "Fine.")
    async with gateway(*SCRIPT, upstream="gemini", rules=(other_rule,)) as running, session_of(running) as session:
        await session.offer(tools=TOOLS)
        await session.say("How is the weather?")
        await session.answer(Tokyo={"temp": 22})
        with caplog.at_level(logging.WARNING, "groundwire.gateway"):
            other = await session.client.aio.models.generate_content(model=running.model, contents="Something else.")
        final = await session.say("And?")
        unplaced, placed = (request.body for request in running.upstream.requests[1:])
    assert (other.text, final) == ("Fine.", "It is sunny.")
    assert texts_of(unplaced) == ["Something else."]
    assert "functionResponse" in str(placed)
    assert "No turn of the model says 'Tool call completed'" in caplog.text


@pytest.mark.requirement("OQ-42")
async def test_a_body_that_is_no_request_is_answered_by_the_provider(gateway):
    async with gateway(upstream="gemini") as running, session_of(running) as session, httpx2.AsyncClient() as http:
        url = f"{session.url}/v1beta/models/{running.model}:generateContent"
        refused = await http.post(url, content=b"[]", headers={"content-type": "application/json"})
    assert refused.status_code == 400
    assert refused.json()["error"]["status"] == "INVALID_ARGUMENT"


@pytest.mark.requirement("E-036", "E-042", "E-104")
async def test_results_are_taken_by_one_process_and_whole_steps_at_a_time(shared_store):
    stores = [open_url(shared_store) for _ in range(2)]
    for store in stores:
        await store.open()
    try:
        tables = [RelayTables(store.database) for store in stores]
        await Tables(stores[0].database).open()
        step = StepRow(step_id="s", created=1, context="", items="[]")
        calls = [CallRow(call_id=f"c{n}", step_id="s", position=n, name="f", arguments="{}") for n in range(2)]
        await tables[0].add_step("default", "desk", step, calls)
        assert await tables[0].add_result("default", "desk", "c0", "{}")
        assert await tables[0].take_results("default", "desk") == set()
        assert await tables[1].add_result("default", "desk", "c1", "{}")
        taken = await asyncio.gather(*[table.take_results("default", "desk") for table in tables * 4])
        assert sorted(map(len, taken)) == [0] * 7 + [2]
        await tables[0].give_back("default", "desk", ["c0", "c1"])
        assert await tables[1].take_results("default", "desk") == {"c0", "c1"}
    finally:
        for store in stores:
            await store.shut()


class Counted(dict):
    """A schema that counts how often it is read."""

    reads = 0

    def items(self):
        Counted.reads += 1
        return super().items()


@pytest.mark.parametrize("steps", [1, 20])
def test_the_tools_are_written_once_however_many_steps_are_known(steps):
    Counted.reads = 0
    schema = Counted(type="object", properties={"city": {"type": "string", "examples": ["Oslo"]}}, title="t")
    call = CallItem(call=ToolCall(call_id="c1", name="get weather", raw="{}"))
    rows = [
        StepRow(step_id=f"s{number}", created=number, context="", items=msgspec.json.encode((call,)).decode())
        for number in range(steps)
    ]
    calls = {
        row.step_id: [
            CallRow(call_id="x", step_id=row.step_id, position=0, name="get weather", arguments="{}", result="{}")
        ]
        for row in rows
    }
    known = known_steps(rows, calls, set(), (FunctionTool(name="get weather", parameters=schema),), "gemini-3-flash")
    assert [step.contents[0]["parts"][0]["functionCall"]["name"] for step in known] == ["get_weather"] * steps
    assert Counted.reads == 1
