"""Schemas that clients send are held to limits before anything is done with them, in every dialect."""

import httpx2
import pytest

from groundwire import Registry, SchemaLimits, tool
from groundwire.testing import Answer
from tests.schema_bombs import BOMB

FINE = {"type": "object", "properties": {"city": {"type": "string"}}}


def chat(schema):
    return "/v1/chat/completions", {
        "messages": [{"role": "user", "content": "Hi"}],
        "tools": [{"type": "function", "function": {"name": "look", "parameters": schema}}],
    }


def chat_answer(schema):
    form = {"type": "json_schema", "json_schema": {"name": "answer", "schema": schema}}
    return "/v1/chat/completions", {"messages": [{"role": "user", "content": "Hi"}], "response_format": form}


def responses(schema):
    return "/v1/responses", {"input": "Hi", "tools": [{"type": "function", "name": "look", "parameters": schema}]}


def responses_answer(schema):
    return "/v1/responses", {
        "input": "Hi",
        "text": {"format": {"type": "json_schema", "name": "answer", "schema": schema}},
    }


def messages(schema):
    return "/v1/messages", {
        "max_tokens": 50,
        "messages": [{"role": "user", "content": "Hi"}],
        "tools": [{"name": "look", "input_schema": schema}],
    }


def count_tokens(schema):
    return "/v1/messages/count_tokens", messages(schema)[1]


def gemini(schema):
    return "/v1beta/models/{model}:generateContent", {
        "contents": [{"role": "user", "parts": [{"text": "Hi"}]}],
        "tools": [{"functionDeclarations": [{"name": "look", "parametersJsonSchema": schema}]}],
    }


def gemini_answer(schema):
    config = {"responseMimeType": "application/json", "responseJsonSchema": schema}
    return "/v1beta/models/{model}:streamGenerateContent", {
        "contents": [{"role": "user", "parts": [{"text": "Hi"}]}],
        "generationConfig": config,
    }


KINDS = (chat, chat_answer, responses, responses_answer, messages, count_tokens, gemini, gemini_answer)
REQUESTS = {kind.__name__: kind for kind in KINDS}
UPSTREAM = {"chat": "anthropic", "messages": "openai-chat", "gemini": "openai-chat", "responses": "anthropic"}


async def send(running, name, schema, **members):
    path, body = REQUESTS[name](schema)
    async with httpx2.AsyncClient(base_url=running.url, timeout=20) as http:
        path = path.replace("{model}", running.model.replace("/", "%2F"))
        return await http.post(path, json={"model": running.model, **body, **members})


def upstream_for(name):
    return next((upstream for kind, upstream in UPSTREAM.items() if name.startswith(kind)), "openai-chat")


@pytest.mark.parametrize("name", REQUESTS)
async def test_a_request_with_a_schema_that_is_too_complex_is_refused(gateway, name):
    async with gateway(Answer("{}"), Answer("{}"), upstream=upstream_for(name)) as running:
        refused = await send(running, name, BOMB)
        again = await send(running, name, BOMB)
        served = await send(running, name, FINE)
        asked = len(running.upstream.requests)
    assert (refused.status_code, again.status_code, served.status_code) == (400, 400, 200)
    assert asked <= 1
    text = refused.text
    assert "SCHEMA_TOO_COMPLEX" in text
    assert "evaluations is" in text
    assert "the limit is 500" in text


async def test_the_place_of_the_schema_is_named(gateway):
    async with gateway(upstream="anthropic") as running:
        refused = await send(running, "chat", BOMB)
    error = refused.json()["error"]
    assert (error["code"], error["param"], error["type"]) == (
        "SCHEMA_TOO_COMPLEX",
        "tools[0]",
        "invalid_request_error",
    )


async def test_the_limits_are_settings(gateway):
    wide = {"type": "object", "properties": {"a": {"anyOf": [{"type": "string"}] * 30}}}
    async with gateway(Answer("Hi"), upstream="anthropic") as running:
        assert (await send(running, "chat", wide)).status_code == 200
    async with gateway(upstream="anthropic", schemas=SchemaLimits(max_evaluations=20)) as running:
        assert (await send(running, "chat", wide)).status_code == 400


@tool(category="utility")
def greet(name: str) -> str:
    """Greet somebody."""
    return f"Hello {name}"


async def test_beside_tools_of_the_server_they_are_held_to_limits_too(gateway):
    async with gateway(Answer("Hi"), upstream="openai-chat", registry=Registry([greet])) as running:
        _, body = chat(BOMB)
        ours = {"type": "groundwire", "name": "greet"}
        refused = await send(running, "chat", BOMB, tools=[ours, *body["tools"]])
    assert refused.status_code == 400
    assert "SCHEMA_TOO_COMPLEX" in refused.text


async def test_the_owner_of_a_relay_session_cannot_offer_them(gateway):
    declared = [{"functionDeclarations": [{"name": "look", "parametersJsonSchema": BOMB}]}]
    async with gateway(upstream="gemini") as running, httpx2.AsyncClient(base_url=running.url, timeout=20) as http:
        refused = await http.put("/relay/s1/tools", json={"tools": declared})
        shown = await http.get("/relay/s1/tools")
    assert refused.status_code == 400
    assert "SCHEMA_TOO_COMPLEX" in refused.text
    assert "look" not in shown.text


@pytest.mark.parametrize(
    ("names", "status"),
    [(["*"] * 1_000, 200), (["*"] * 1_001, 400), (["*" * 256], 200), (["*" * 257], 400)],
)
async def test_patterns_for_tools_of_the_server_are_few_and_short(gateway, names, status):
    async with gateway(Answer("Hi"), upstream="openai-chat", registry=Registry([greet])) as running:
        answered = await send(running, "chat", FINE, tools=[{"type": "groundwire", "name": names}])
        headed = None
        async with httpx2.AsyncClient(base_url=running.url, timeout=20) as http:
            path, body = chat(FINE)
            headers = {"x-groundwire-tools": ",".join(names)}
            headed = await http.post(path, json={"model": running.model, **body, "tools": []}, headers=headers)
    assert answered.status_code == status
    assert headed.status_code == status
