"""Conversations that the gateway keeps: the contract's four requests, tools that stay, turns that do not mix."""

import asyncio
import json

import httpx2 as httpx
import pytest

from groundwire.contracts.servers import ServerSettings
from groundwire.testing import Answer, Ask, Fault, FaultKind, ModelFaults

WEATHER = {
    "name": "get_weather",
    "description": "Get weather",
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
}
NESTED = {"type": "function", "function": WEATHER}
UPPER = {
    "name": "get_weather",
    "description": "Get weather",
    "parameters": {"type": "OBJECT", "properties": {"city": {"type": "STRING"}}, "required": ["city"]},
}
TOKYO = Answer(calls=(Ask("get_weather", {"city": "Tokyo"}),))


async def post(running, path, body, **headers):
    async with httpx.AsyncClient(base_url=running.url, timeout=30) as client:
        return await client.post(path, json=body, headers=headers)


async def ask(running, **body):
    answer = await post(running, "/v1/responses", {"model": "gemini-3-flash", "stream": False, **body})
    assert answer.status_code == 200, answer.text
    return answer.json()


def output_of(response, kind):
    return [item for item in response["output"] if item["type"] == kind]


def result_of(call, value):
    return {"type": "function_call_output", "call_id": call["call_id"], "output": json.dumps(value)}


def functions_in(contents, kind):
    return [part[kind] for content in contents for part in content["parts"] if kind in part]


@pytest.mark.requirement(
    "E-007", "E-008", "E-009", "E-012", "E-015", "E-019", "E-020", "E-021", "E-063", "E-065", "E-066", "E-091", "E-092",
    "E-093", "E-094", "E-095", "E-096", "E-097", "X-19", "X-32",
)  # fmt: skip
async def test_a_call_and_its_result_in_a_named_conversation_without_repeating_the_tools(gateway):
    async with gateway(TOKYO, "It is 72 F.", upstream="gemini") as running:
        one = await ask(
            running,
            input="What is the weather in Tokyo?",
            tools=[NESTED],
            tool_choice="auto",
            conversation="tool-test",
        )
        (call,) = output_of(one, "function_call")
        two = await ask(running, input=[result_of(call, {"temp": 72, "unit": "F"})], conversation="tool-test")
        last = running.upstream.requests[-1].body
    assert (call["name"], json.loads(call["arguments"])) == ("get_weather", {"city": "Tokyo"})
    assert output_of(two, "message")[0]["content"][0]["text"] == "It is 72 F."
    assert (one["conversation"], two["conversation"]) == ({"id": "tool-test"}, {"id": "tool-test"})
    assert [content["role"] for content in last["contents"]] == ["user", "model", "user"]
    assert functions_in(last["contents"], "functionResponse")[0]["response"] == {"temp": 72, "unit": "F"}
    assert last["tools"][0]["functionDeclarations"][0]["name"] == "get_weather"


@pytest.mark.requirement("X-32")
async def test_a_result_for_a_call_that_nobody_made_is_refused_by_its_id(gateway):
    async with gateway(TOKYO, upstream="gemini") as running:
        answer = await post(
            running,
            "/v1/responses",
            {
                "model": "gemini-3-flash",
                "input": [{"type": "function_call_output", "call_id": "call_xxx", "output": "{}"}],
                "conversation": "tool-test",
            },
        )
    assert (answer.status_code, answer.json()["error"]["param"]) == (400, "input")
    assert "call_xxx" in answer.json()["error"]["message"]


@pytest.mark.requirement(
    "E-010", "E-014", "E-076", "E-077", "E-078", "E-079", "E-080", "E-082", "E-098", "E-099",
)  # fmt: skip
async def test_the_native_endpoint_takes_and_gives_geminis_own_form(gateway):
    native = {"functionDeclarations": [UPPER]}
    config = {"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["get_weather"]}}
    async with gateway(TOKYO, "Sunny.", upstream="gemini") as running:
        body = {"model": "gemini-3-flash", "conversation": "gemini-tool-test", "stream": False}
        one = await post(running, "/v1/gemini", {**body, "input": "Weather?", "tools": [native], "toolConfig": config})
        sent = running.upstream.requests[-1].body
        (call,) = functions_in([one.json()["candidates"][0]["content"]], "functionCall")
        response = {"functionResponse": {"name": "get_weather", "response": {"temp": 72}}}
        two = await post(running, "/v1/gemini", {**body, "input": [{"role": "user", "parts": [response]}]})
        later = running.upstream.requests[-1].body
    assert (call["name"], call["args"]) == ("get_weather", {"city": "Tokyo"})
    assert (sent["tools"], sent["toolConfig"]) == ([native], config)
    assert [part["text"] for part in two.json()["candidates"][0]["content"]["parts"]] == ["Sunny."]
    assert later["tools"] == [native]
    assert "toolConfig" not in later


@pytest.mark.requirement("E-075", "E-100", "E-101")
async def test_without_tools_there_is_text_and_nothing_of_tools(gateway):
    async with gateway("Four.", upstream="gemini") as running:
        answer = await ask(running, input="What is 2+2?")
        sent = running.upstream.requests[-1].body
    assert [item["type"] for item in answer["output"]] == ["message"]
    assert "tools" not in sent
    assert "toolConfig" not in sent


@pytest.mark.requirement("X-20", "E-034", "E-106")
async def test_conversations_that_take_turns_never_mix(gateway):
    async with gateway(TOKYO, TOKYO, "One.", "Two.", upstream="gemini") as running:
        calls = {}
        for name in ("one", "two"):
            asked = await ask(running, input=f"Weather for {name}?", tools=[NESTED], conversation=name)
            (calls[name],) = output_of(asked, "function_call")
        for name in ("two", "one"):
            await ask(running, input=[result_of(calls[name], {"for": name})], conversation=name)
            contents = running.upstream.requests[-1].body["contents"]
            assert contents[0]["parts"] == [{"text": f"Weather for {name}?"}]
            assert functions_in(contents, "functionResponse")[0]["response"] == {"for": name}


@pytest.mark.requirement("X-21", "E-037", "E-104", "OQ-46")
async def test_two_calls_of_one_function_keep_their_order_however_results_come(gateway):
    twice = Answer(calls=tuple(Ask("get_weather", {"city": city}) for city in ("Tokyo", "Oslo")))
    async with gateway(twice, "Both.", upstream="gemini") as running:
        one = await ask(running, input="Both?", tools=[NESTED], conversation="c")
        tokyo, oslo = output_of(one, "function_call")
        await ask(running, input=[result_of(oslo, {"temp": 1}), result_of(tokyo, {"temp": 2})], conversation="c")
        contents = running.upstream.requests[-1].body["contents"]
    assert [call["args"]["city"] for call in functions_in(contents, "functionCall")] == ["Tokyo", "Oslo"]
    assert [answer["response"]["temp"] for answer in functions_in(contents, "functionResponse")] == [2, 1]


@pytest.mark.requirement("E-035", "E-041", "E-064")
async def test_an_empty_list_clears_the_tools_and_a_forced_choice_counts_once(gateway):
    async with gateway("a", "b", "c", "d", upstream="gemini") as running:
        await ask(running, input="1", tools=[NESTED], tool_choice="none", conversation="c")
        await ask(running, input="2", conversation="c")
        await ask(running, input="3", tools=[], conversation="c")
        await ask(running, input="4", conversation="c")
        modes = [
            request.body.get("toolConfig", {}).get("functionCallingConfig") for request in running.upstream.requests
        ]
        offered = ["tools" in request.body for request in running.upstream.requests]
    assert modes == [{"mode": "NONE"}, {"mode": "NONE"}, None, None]
    assert offered == [True, True, False, False]


async def test_a_forced_choice_is_not_forced_on_the_result(gateway):
    async with gateway(TOKYO, "Sunny.", upstream="gemini") as running:
        one = await ask(running, input="1", tools=[NESTED], tool_choice="required", conversation="c")
        (call,) = output_of(one, "function_call")
        await ask(running, input=[result_of(call, {})], conversation="c")
        first, second = [request.body.get("toolConfig") for request in running.upstream.requests]
    assert first == {"functionCallingConfig": {"mode": "ANY"}}
    assert second is None


async def test_tools_are_not_kept_from_response_to_response(gateway):
    async with gateway("a", "b", upstream="gemini") as running:
        one = await ask(running, input="1", tools=[NESTED])
        await ask(running, input="2", previous_response_id=one["id"])
        assert ["tools" in request.body for request in running.upstream.requests] == [True, False]


async def test_a_conversation_that_branches_at_every_turn_keeps_its_beginning(gateway):
    branches = 101
    async with gateway(upstream="openai-chat") as running, httpx.AsyncClient(base_url=running.url) as client:

        async def ask(text, previous):
            body = {"model": running.model, "input": text, "previous_response_id": previous}
            return (await client.post("/v1/responses", json=body)).json()["id"]

        latest = await ask("The beginning.", None)
        for place in range(branches):
            await ask("Somebody else goes on.", latest)
            latest = await ask(f"Turn {place}.", latest)
        said = [each["content"] for each in running.upstream.requests[-1].body["messages"] if each["role"] == "user"]
    assert said == ["The beginning.", *(f"Turn {place}." for place in range(branches))]


async def test_ids_with_characters_that_no_database_keeps_are_looked_for_like_any_other(gateway, shared_store):
    odd = "a\0b"
    call = {"id": odd, "type": "function", "function": {"name": "look", "arguments": "{}"}}
    messages = [
        {"role": "user", "content": "Hi."},
        {"role": "assistant", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": odd, "content": "done"},
    ]
    async with gateway("Hello.", store=shared_store) as running, httpx.AsyncClient(base_url=running.url) as client:
        body = {"model": running.model, "input": "3", "previous_response_id": odd}
        statuses = [
            (await client.get("/v1/responses/a%00b")).status_code,
            (await client.delete("/v1/responses/a%00b")).status_code,
            (await client.post("/v1/responses", json=body)).status_code,
            (
                await client.post("/v1/chat/completions", json={"model": running.model, "messages": messages})
            ).status_code,
        ]
    assert statuses == [404, 404, 400, 200]


async def test_an_earlier_response_can_be_gone_on_from_twice(gateway):
    async with gateway("a", "b", "c") as running:  # the script's answer depends on how far the conversation is
        body = {"model": running.model}
        one = await ask(running, input="1", **body)
        two = await ask(running, input="2", previous_response_id=one["id"], **body)
        other = await ask(running, input="other", previous_response_id=one["id"], **body)
        await ask(running, input="3", previous_response_id=other["id"], **body)
        said = [message["content"] for message in running.upstream.requests[-1].body["messages"]]
    assert two["previous_response_id"] == other["previous_response_id"] == one["id"]
    assert said == ["1", "a", "other", "b", "3"]


async def test_a_response_can_be_read_again_and_deleted(gateway):
    async with gateway("Hello.") as running, httpx.AsyncClient(base_url=running.url) as client:
        made = await ask(running, model=running.model, input="Hi.")
        path = f"/v1/responses/{made['id']}"
        shown, deleted = await client.get(path), await client.delete(path)
        gone, again = await client.get(path), await client.delete(path)
        later = await post(
            running, "/v1/responses", {"model": running.model, "input": "x", "previous_response_id": made["id"]}
        )
    assert shown.json() == made
    assert deleted.json() == {"id": made["id"], "object": "response", "deleted": True}
    assert (gone.status_code, again.status_code, later.status_code) == (404, 404, 400)
    assert later.json()["error"]["code"] == "previous_response_not_found"


async def test_what_is_not_to_be_kept_cannot_be_read_again(gateway):
    async with gateway("Hello.") as running, httpx.AsyncClient(base_url=running.url) as client:
        made = await ask(running, model=running.model, input="Hi.", store=False)
        assert (await client.get(f"/v1/responses/{made['id']}")).status_code == 404


@pytest.mark.requirement("E-103", "OQ-43")
async def test_a_turn_with_results_has_its_own_time_limit(gateway):
    server = ServerSettings(result_timeout=0.2)
    call = {"role": "assistant", "content": None, "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}]}  # fmt: skip
    messages = [{"role": "user", "content": "x"}, call, {"role": "tool", "tool_call_id": "c1", "content": "1"}]
    faults = ModelFaults(at=dict.fromkeys(range(10), Fault(kind=FaultKind.TIMEOUT)))
    async with gateway("late", upstream="gemini", server=server, faults=faults) as running:
        answer = await post(running, "/v1/chat/completions", {"model": running.model, "messages": messages})
    assert answer.status_code == 504, answer.text


ENDPOINTS = {
    "/v1/chat/completions": {"messages": [{"role": "user", "content": "x"}]},
    "/v1/responses": {"input": "x"},
    "/v1/messages": {"messages": [{"role": "user", "content": "x"}], "max_tokens": 10},
    "/v1/gemini": {"input": "x"},
    "/v1beta/models/{model}:generateContent": {"contents": [{"parts": [{"text": "x"}]}]},
}


@pytest.mark.parametrize("path", ENDPOINTS)
async def test_an_unknown_model_is_named_in_the_callers_own_dialect(gateway, path):
    async with gateway("x", upstream="gemini") as running:
        answer = await post(running, path.format(model="nobody"), {**ENDPOINTS[path], "model": "nobody"})
    assert answer.status_code == (400 if path == "/v1/responses" else 404)
    error = answer.json()["error"]
    assert "nobody" in error["message"]
    if path == "/v1/responses":
        assert (error["code"], error["param"]) == ("model_not_found", "model")
    if path == "/v1/messages":
        assert answer.json()["request_id"] == answer.headers["request-id"]


@pytest.mark.parametrize("path", ENDPOINTS)
async def test_a_body_that_is_too_long_is_a_413_and_one_that_just_fits_is_read(gateway, path):
    async def pieces():
        for _ in range(3):
            yield b" " * 1000

    path = path.format(model="gemini-3-flash")
    small = ServerSettings(max_body=2048)
    async with (
        gateway("x", upstream="gemini", server=small) as running,
        httpx.AsyncClient(base_url=running.url) as client,
    ):
        fits = await client.post(path, content=b"{" + b" " * 2046 + b"}")
        too_long = await client.post(path, content=b"{" + b" " * 2047 + b"}")
        in_pieces = await client.post(path, content=pieces())
    assert (fits.status_code, too_long.status_code, in_pieces.status_code) == (400, 413, 413)
    assert "error" in too_long.json()


@pytest.mark.parametrize("path", ENDPOINTS)
@pytest.mark.parametrize("body", [b"", b"[", b"[]", b"null", b"\xff", b'{"model": 3}', b'"x"'])
async def test_a_bad_body_is_a_400_that_says_what_is_wrong(gateway, path, body):
    async with gateway("x", upstream="gemini") as running, httpx.AsyncClient(base_url=running.url) as client:
        answer = await client.post(path.format(model="gemini-3-flash"), content=body)
    assert answer.status_code == 400
    assert answer.json()["error"]["message"]


@pytest.mark.parametrize("path", ["/v1/responses", "/v1/gemini"])
@pytest.mark.parametrize(("name", "status"), [("c" * 256, 200), ("c" * 257, 400), ("a\nb", 400)])
async def test_a_conversation_has_a_name_that_can_be_stored(gateway, path, name, status):
    async with gateway("Hello.", upstream="gemini") as running:
        for conversation in (name, {"id": name}):
            answer = await post(running, path, {"model": running.model, "input": "Hi", "conversation": conversation})
            assert answer.status_code == status
    assert status == 200 or "conversation: has 1 to 256 printable characters" in answer.text


async def test_turns_of_one_conversation_at_the_same_time_are_all_kept(gateway):
    async with gateway(*["ok"] * 9) as running:
        asking = [ask(running, model=running.model, input=str(number), conversation="c") for number in range(8)]
        await asyncio.gather(*asking)
        await ask(running, model=running.model, input="last", conversation="c")
        said = [item["content"] for item in running.upstream.requests[-1].body["messages"] if item["role"] == "user"]
    assert sorted(said) == ["0", "1", "2", "3", "4", "5", "6", "7", "last"]
