"""The owner of a relay session: tools, the calls that wait, results, and what else stands below the session's path."""

import httpx2
import pytest
from google.genai import types

from groundwire.providers.catalogue import ModelEntry
from groundwire.testing import Answer, Ask, Rule
from tests.gateway.relayed import FLAT, OSLO, PLACEHOLDER, SCRIPT, TOKYO, TOOLS, session_of, texts_of


@pytest.mark.requirement("X-21", "E-037", "E-039", "E-043", "E-066", "E-067", "E-071", "E-072", "OQ-46")
async def test_results_of_two_calls_of_one_function_keep_the_order_of_the_calls(gateway):
    async with (
        gateway(Answer(calls=(TOKYO, OSLO)), "Sunny.", upstream="gemini") as running,
        session_of(running) as session,
    ):
        await session.offer(tools=TOOLS)
        await session.say("How is the weather?")
        tokyo, oslo = await session.calls()
        first = await session.post([{"id": oslo["id"], "result": 3}])
        second = await session.post({"type": "function_call_output", "call_id": tokyo["id"], "output": '{"temp":22}'})
        await session.say("And?")
        parts = running.upstream.requests[1].body["contents"][2]["parts"]
    assert tokyo["id"].startswith("call_")
    assert tokyo["id"] != oslo["id"]
    assert first.json()["waiting"] == [tokyo["id"]]
    assert second.json()["waiting"] == []
    assert [part["functionResponse"]["response"] for part in parts] == [{"temp": 22}, {"output": 3}]


@pytest.mark.requirement("E-043", "E-066")
async def test_a_result_for_a_call_that_nobody_made_is_refused_by_its_id(gateway):
    async with gateway(*SCRIPT, upstream="gemini") as running, session_of(running) as session:
        await session.offer(tools=TOOLS)
        await session.say("How is the weather?")
        (call,) = await session.calls()
        results = [{"id": call["id"], "response": {}}, {"id": "call_x", "response": {}}]
        refused = await session.post({"results": results})
        still = await session.calls()
    assert refused.status_code == 404
    assert "'call_x'" in refused.json()["error"]["message"]
    assert still == [call]


async def test_a_result_counts_once_and_another_one_is_a_conflict(gateway):
    async with gateway(*SCRIPT, upstream="gemini") as running, session_of(running) as session:
        await session.offer(tools=TOOLS)
        await session.say("How is the weather?")
        (call,) = await session.calls()
        results = [{"id": call["id"], "response": {"temp": temp}} for temp in (22, 22, 23)]
        statuses = [(await session.post(result)).status_code for result in results]
    assert statuses == [200, 200, 409]


@pytest.mark.parametrize("second", ["another", "unknown"])
async def test_of_a_list_that_is_refused_no_result_is_kept(gateway, second):
    both = Answer(calls=(TOKYO, OSLO))
    async with gateway(both, "Fine.", upstream="gemini") as running, session_of(running) as session:
        await session.offer(tools=TOOLS)
        await session.say("How is the weather?")
        calls = await session.calls()
        first = {"id": calls[0]["id"], "response": {"temp": 22}}
        wrong = {"another": {**first, "response": {"temp": 23}}, "unknown": {**first, "id": "call_x"}}[second]
        refused = await session.post({"results": [{**first, "id": calls[1]["id"]}, first, wrong]})
        assert await session.calls() == calls
    assert refused.status_code == (409 if second == "another" else 404)


@pytest.mark.parametrize(
    ("body", "path"),
    [
        ({"results": [{"response": {}}]}, "results[0].id"),
        ({"results": [{"id": "call_1"}]}, "results[0].response"),
        ({"results": 3}, "results"),
        ([3], "results[0]"),
    ],
)
async def test_a_bad_list_of_results_is_refused_with_the_place(gateway, body, path):
    async with gateway(*SCRIPT, upstream="gemini") as running, session_of(running) as session:
        refused = await session.post(body)
    assert refused.status_code == 400
    assert path in str(refused.json())


@pytest.mark.requirement("E-053", "E-054", "E-055", "E-035", "E-041")
async def test_the_clients_own_tools_never_reach_the_model(gateway):
    config = {"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["get_weather"]}}
    async with gateway(*SCRIPT, upstream="gemini") as running, session_of(running) as session:
        shown = await session.offer(tools=TOOLS, toolConfig=config)
        search = types.GenerateContentConfig(tools=[types.Tool(google_search=types.GoogleSearch())])
        await session.client.aio.models.generate_content(model=running.model, contents="Weather?", config=search)
        body = running.upstream.requests[0].body
    assert (shown["tools"], shown["toolConfig"]) == (TOOLS, config)
    assert (body["tools"], body["toolConfig"]) == (TOOLS, config)


@pytest.mark.requirement("E-004", "E-018", "E-033", "E-040", "E-041")
async def test_tools_can_be_set_in_either_form_shown_and_cleared(gateway):
    choice = {"type": "function", "function": {"name": "get_weather"}}
    async with gateway(upstream="gemini") as running, session_of(running) as session, httpx2.AsyncClient() as http:
        unset = (await http.get(f"{session.url}/tools")).json()
        given = await session.offer(tools=[{"type": "function", "function": FLAT}], tool_choice=choice)
        shown = (await http.get(f"{session.url}/tools")).json()
        cleared = (await http.delete(f"{session.url}/tools")).json()
    assert unset == cleared == {"session": "desk", "tools": None, "toolConfig": None}
    assert given == shown
    (declared,) = shown["tools"][0]["functionDeclarations"]
    assert declared["name"] == "get_weather"
    calling = {"mode": "ANY", "allowedFunctionNames": ["get_weather"]}
    assert shown["toolConfig"] == {"functionCallingConfig": calling}


@pytest.mark.parametrize(
    ("body", "path"),
    [
        ({"tools": 3}, "tools"),
        ({"toolconfig": {}}, "toolconfig"),
        ({"tools": [{"type": "groundwire", "name": "kb_*"}]}, "tools"),
        ({"tools": TOOLS, "toolConfig": {}, "tool_choice": "auto"}, "tool_choice"),
        ({"tools": [{"functionDeclarations": [{}]}]}, "name"),
    ],
)
async def test_tools_that_are_none_are_refused_with_the_place(gateway, body, path):
    async with gateway(upstream="gemini") as running, session_of(running) as session, httpx2.AsyncClient() as http:
        refused = await http.put(f"{session.url}/tools", json=body)
    assert refused.status_code == 400
    assert path in str(refused.json())


@pytest.mark.requirement("E-001", "E-007", "E-018", "E-063", "E-064")
async def test_a_conversation_of_the_same_name_shares_its_tools_with_the_relay(gateway):
    async with (
        gateway(*SCRIPT, upstream="gemini", rules=(Rule("Hi", "Hello."),)) as running,
        session_of(running) as session,
    ):
        async with httpx2.AsyncClient() as http:
            body = {
                "model": running.model,
                "input": "Hi",
                "conversation": "desk",
                "tools": [FLAT],
                "tool_choice": "auto",
            }
            await http.post(f"{running.url}/v1/responses", json=body)
            shown = (await http.get(f"{session.url}/tools")).json()
        said = await session.say("How is the weather?")
        relayed = running.upstream.requests[1].body
    assert shown["toolConfig"] == {"functionCallingConfig": {"mode": "AUTO"}}
    assert said == PLACEHOLDER
    assert relayed["tools"][0]["functionDeclarations"][0]["name"] == "get_weather"
    assert texts_of(relayed) == ["How is the weather?"]


async def test_a_client_finds_models_and_counts_tokens_below_its_session(gateway):
    models = (ModelEntry(id="fast", provider="gemini", model="gemini-3-flash"),)
    async with gateway(upstream="gemini", models=models) as running, session_of(running, "models") as session:
        names = [model.name async for model in await session.client.aio.models.list()]
        counted = await session.client.aio.models.count_tokens(model=running.model, contents="12345678")
    assert "models/fast" in names
    assert counted.total_tokens > 0


async def test_a_call_whose_arguments_are_too_deep_to_be_read_is_listed_with_their_text(gateway):
    deep = f'{{"city": {"[" * 5000}{"]" * 5000}}}'
    script = (Answer(calls=(Ask("get_weather", raw=deep),)),)
    async with gateway(*script, upstream="openai-chat") as running, session_of(running) as session:
        await session.offer(tools=TOOLS)
        await session.say("How is the weather?")
        (call,) = await session.calls()
    assert call["args"] == deep


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/relay/desk", 404),
        ("POST", "/relay/desk/calls", 405),
        ("DELETE", "/relay/desk/v1beta/models/x", 405),
        ("POST", "/relay/desk/v1beta/models/x:predict", 404),
        ("POST", "/relay/desk/v1beta/models/nobody:generateContent", 404),
        ("GET", f"/relay/{'n' * 257}/calls", 404),
        ("GET", f"/relay/{'n' * 256}/calls", 200),
        ("GET", "/relay/a%00b/calls", 404),
    ],
)
async def test_paths_that_the_relay_does_not_have_are_named_in_geminis_form(gateway, method, path, status):
    async with gateway(upstream="gemini") as running, httpx2.AsyncClient() as http:
        response = await http.request(method, f"{running.url}{path}", content=b'{"contents": []}')
    assert response.status_code == status
    assert status == 200 or response.json()["error"]["code"] == status
