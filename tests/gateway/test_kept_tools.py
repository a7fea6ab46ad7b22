"""Tools of named conversations: kept before anybody is asked, with their choice, until somebody says otherwise."""

import asyncio

import httpx2
import pytest

from groundwire.providers.retries import RetryPolicy
from groundwire.store import open_url
from groundwire.testing import Answer, Ask, Fault, FaultKind, ModelFaults, Rule
from tests.gateway.conftest import another_gateway
from tests.gateway.test_access import key_for

FLAT = {
    "type": "function",
    "name": "get_weather",
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
}
CALLS = Answer("Let me see.", calls=(Ask("get_weather", {"city": "Tokyo"}), Ask("get_weather", {"city": "Oslo"})))
SCRIPT = (CALLS, Answer("Sunny."), Answer("You are welcome."))


async def post(running, given, *, secret="", **more):
    body = {"model": running.model, "input": given, **more}
    headers = {"x-api-key": secret} if secret else {}
    async with httpx2.AsyncClient(timeout=30, headers=headers) as http:
        return await http.post(f"{running.url}/v1/responses", json=body)


def results_of(response):
    calls = [item for item in response.json()["output"] if item["type"] == "function_call"]
    return [
        {"type": "function_call_output", "call_id": call["call_id"], "output": f'{{"at":{place}}}'}
        for place, call in enumerate(calls)
    ]


def declared(body):
    return [entry["name"] for tool in body.get("tools", ()) for entry in tool["functionDeclarations"]]


@pytest.mark.requirement("E-002", "E-045", "E-046")
async def test_a_request_without_tools_and_choice_gets_text(gateway):
    async with gateway("4", upstream="gemini") as running:
        response = await post(running, "What is 2+2?")
        body = running.upstream.requests[0].body
    assert [item["type"] for item in response.json()["output"]] == ["message"]
    assert ("tools" in body, "toolConfig" in body) == (False, False)


@pytest.mark.requirement("E-068", "E-073", "E-074")
async def test_calls_are_items_of_their_own_and_all_results_with_their_text_go_back(gateway):
    async with gateway(*SCRIPT, upstream="gemini") as running:
        one = await post(running, "How is the weather?", conversation="trip", tools=[FLAT])
        said = {"role": "user", "content": "And in short?"}
        two = await post(running, [*results_of(one), said], conversation="trip")
        contents = running.upstream.requests[1].body["contents"]
    calls = [item for item in one.json()["output"] if item["type"] == "function_call"]
    assert [(call["name"], call["arguments"]) for call in calls] == [
        ("get_weather", '{"city":"Tokyo"}'),
        ("get_weather", '{"city":"Oslo"}'),
    ]
    assert len({call["call_id"] for call in calls}) == 2
    assert two.json()["output"][0]["content"][0]["text"] == "Sunny."
    answered = [part["functionResponse"]["response"] for part in contents[2]["parts"]]
    assert answered == [{"at": 0}, {"at": 1}]
    assert contents[3] == {"role": "user", "parts": [{"text": "And in short?"}]}


@pytest.mark.requirement("E-007", "E-063")
async def test_tools_are_kept_before_the_model_is_asked(gateway):
    faults = ModelFaults(at={0: Fault(kind=FaultKind.STATUS, status=500)})
    async with gateway(*SCRIPT, upstream="gemini", faults=faults, retry=RetryPolicy(attempts=1)) as running:
        failed = await post(running, "How is the weather?", conversation="trip", tools=[FLAT])
        await post(running, "How is the weather?", conversation="trip")
        body = running.upstream.requests[1].body
    assert failed.status_code == 500
    assert declared(body) == ["get_weather"]
    assert len(body["contents"]) == 1


@pytest.mark.requirement("E-064")
async def test_a_forced_choice_counts_for_its_own_request_and_any_other_stays(gateway):
    async with gateway(rules=(Rule("", "Fine."),), upstream="gemini") as running:
        for more in ({"tools": [FLAT], "tool_choice": "required"}, {}, {"tool_choice": "none"}, {}, {"tools": []}, {}):
            response = await post(running, "Hi", conversation="trip", **more)
            assert response.status_code == 200, response.text
        bodies = [request.body for request in running.upstream.requests]
    modes = [body.get("toolConfig", {}).get("functionCallingConfig", {}).get("mode") for body in bodies]
    assert modes == ["ANY", None, "NONE", "NONE", None, None]
    assert [declared(body) for body in bodies] == [["get_weather"]] * 4 + [[]] * 2


async def test_tools_that_are_said_again_are_not_kept_again(gateway, tmp_path):
    store = f"sqlite:///{tmp_path}/store.db"
    async with gateway(rules=(Rule("", "Fine."),), upstream="gemini", store=store) as running:
        for _ in range(3):
            await post(running, "Hi", conversation="trip", tools=[FLAT], tool_choice="auto")
        shown = await _turns(store)
    assert shown == [0, 1, 2, 3]


UNKNOWN_TOOL = {"type": "groundwire", "name": "nobody_made_this"}


@pytest.mark.parametrize(
    ("wrong", "status"),
    [({"model": "gpt-maxi"}, 403), ({"model": "nowhere/such"}, 400), ({"tools": [FLAT, UNKNOWN_TOOL]}, 400)],
    ids=["model of others", "no such model", "no such tool"],
)
async def test_a_request_that_is_refused_does_not_change_what_is_on_offer(gateway, tmp_path, wrong, status):
    store = f"sqlite:///{tmp_path}/store.db"
    _, secret = await key_for(store, models=("openai/gpt-5.2",), scopes=("models", "tools"))
    async with gateway(rules=(Rule("", "Fine."),), store=store) as running:
        more = {"conversation": "trip", "tools": [FLAT], **wrong}
        answer = await post(running, "Hi", secret=secret, **more)
        kept = await _turns(store)
    assert (answer.status_code, kept) == (status, [])


async def _turns(store):
    opened = open_url(store)
    await opened.open()
    try:
        rows = await opened.database.fetch("SELECT position FROM gateway_turns ORDER BY position")
        return [row["position"] for row in rows]
    finally:
        await opened.shut()


def tool_for(name):
    return {**FLAT, "name": f"tool_of_{name}"}


@pytest.mark.requirement("OQ-44")
async def test_conversations_that_set_their_tools_at_the_same_time_at_two_gateways_each_keep_their_own(
    gateway, shared_store
):
    names = [f"c{number}" for number in range(12)]
    async with (
        gateway(rules=(Rule("", "Fine."),), upstream="gemini", store=shared_store) as running,
        another_gateway(running) as other,
    ):
        both = (running, other)
        asked = [post(both[n % 2], name, conversation=name, tools=[tool_for(name)]) for n, name in enumerate(names)]
        assert {response.status_code for response in await asyncio.gather(*asked)} == {200}
        again = [post(both[1 - n % 2], f"again {name}", conversation=name) for n, name in enumerate(names)]
        assert {response.status_code for response in await asyncio.gather(*again)} == {200}
        bodies = [request.body for request in running.upstream.requests[len(names) :]]
    offered = {body["contents"][-1]["parts"][0]["text"]: declared(body) for body in bodies}
    assert offered == {f"again {name}": [f"tool_of_{name}"] for name in names}


@pytest.mark.requirement("OQ-44")
async def test_tools_that_several_set_for_one_conversation_are_those_of_one_of_them(gateway, shared_store):
    names = [f"w{number}" for number in range(8)]
    async with (
        gateway(rules=(Rule("", "Fine."),), upstream="gemini", store=shared_store) as running,
        another_gateway(running) as other,
    ):
        both = (running, other)
        asked = [
            post(both[n % 2], name, conversation="one", tools=[tool_for(name), tool_for(f"{name}_too")])
            for n, name in enumerate(names)
        ]
        assert {response.status_code for response in await asyncio.gather(*asked)} == {200}
        await post(other, "What now?", conversation="one")
        last = running.upstream.requests[-1].body
    kept = declared(last)
    assert kept in [[f"tool_of_{name}", f"tool_of_{name}_too"] for name in names]
    said = [part["text"] for content in last["contents"] if content["role"] == "user" for part in content["parts"]]
    assert sorted(said) == ["What now?", *names]
