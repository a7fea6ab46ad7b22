"""A key that is limited to some models cannot reach another one by any member of a request, in any dialect."""

import asyncio
import json

import httpx2 as httpx
import pytest

from groundwire.contracts.keys import KeyLimit
from tests.gateway.raw_upstream import LIMIT, gateway_before_raw
from tests.gateway.test_access import key_for
from tests.gateway.test_pass_through import BODIES, PATHS

ANSWERS = {
    "openai-chat": {"id": "r", "object": "chat.completion", "choices": [{"index": 0, "message": {"role": "assistant", "content": "Hi"}, "finish_reason": "stop"}], "model": "m"},
    "openai-responses": {"id": "r", "object": "response", "status": "completed", "model": "m", "output": [{"type": "message", "id": "i", "role": "assistant", "status": "completed", "content": [{"type": "output_text", "text": "Hi", "annotations": []}]}]},
    "anthropic": {"id": "r", "type": "message", "role": "assistant", "model": "m", "content": [{"type": "text", "text": "Hi"}], "stop_reason": "end_turn", "usage": {"input_tokens": 1, "output_tokens": 1}},
    "gemini": {"candidates": [{"content": {"role": "model", "parts": [{"text": "Hi"}]}, "finishReason": "STOP"}]},
}  # fmt: skip
SCHEMA = {
    "type": "object",
    "properties": {"model": {"type": "string", "default": "dear"}, "models": {"enum": ["dear"]}},
}
PIXEL = {"type": "image_generation", "model": "dear"}


def tool_search(*tools):
    return [
        {"role": "user", "content": "Hi"},
        {"type": "tool_search_output", "call_id": "c", "execution": "client", "status": "completed", "tools": [*tools]},
    ]


REFUSED = [
    ("openai-chat", {"models": ["dear"]}),
    ("openai-chat", {"models": ["plain", "dear"]}),
    ("openai-chat", {"Models": ["dear"]}),
    ("openai-chat", {"model\u017f": ["dear"]}),
    ("openai-chat", {"fallbacks": ["dear"]}),
    ("openai-chat", {"fallbacks": [{"plain": ["dear"]}]}),
    ("openai-chat", {"context_window_fallback_dict": {"plain": "dear"}}),
    ("openai-chat", {"route": "fallback"}),
    ("openai-chat", {"preset": "general-high"}),
    ("openai-chat", {"plugins": [{"id": "auto-router", "allowed_models": ["*"]}]}),
    ("openai-chat", {"plugins": [{"id": "fusion"}]}),
    ("openai-chat", {"plugins": [{"id": "fusion", "analysis_models": ["plain"], "model": "dear"}]}),
    ("openai-chat", {"tools": [{"type": "openrouter:advisor", "parameters": {"model": "dear"}}]}),
    ("openai-chat", {"tools": [{"type": "openrouter:advisor"}]}),
    ("openai-chat", {"tools": [{"type": "openrouter:fusion", "parameters": {"analysis_models": ["dear"]}}]}),
    ("openai-chat", {"providerOptions": {"gateway": {"models": ["dear"]}}}),
    ("openai-chat", {"compound_custom": {"models": {"answering_model": "dear"}}}),
    ("openai-chat", {"extra_body": {"model": "dear"}}),
    ("openai-chat", {"moderation": {"model": "dear"}}),
    ("openai-chat", {"engine": "dear"}),
    ("openai-chat", {"deployment_id": "dear"}),
    ("openai-responses", {"models": ["dear"]}),
    ("openai-responses", {"tools": [PIXEL]}),
    ("openai-responses", {"tools": [{"type": "image_generation"}]}),
    ("openai-responses", {"tools": [{**PIXEL, "model": "plain", "svg": {"model": "dear"}}]}),
    ("openai-responses", {"tools": [{"type": "namespace", "name": "n", "tools": [PIXEL]}]}),
    ("openai-responses", {"input": tool_search(PIXEL)}),
    ("openai-responses", {"input": [{"role": "user", "content": "Hi"}, {"type": "additional_tools", "tools": [PIXEL]}]}),
    ("openai-responses", {"prompt": {"id": "pmpt_1"}}),
    ("anthropic", {"models": ["dear"]}),
    ("anthropic", {"fallbacks": [{"model": "dear"}]}),
    ("anthropic", {"fallbacks": "default"}),
    ("anthropic", {"tools": [{"type": "advisor_20260301", "name": "advisor", "model": "dear"}]}),
    ("gemini", {"model": "models/dear"}),
    ("gemini", {"generationConfig": {"routingConfig": {"manualMode": {"modelName": "dear"}}}}),
    ("gemini", {"generation_config": {"routing_config": {"manual_mode": {"model_name": "dear"}}}}),
    ("gemini", {"generationConfig": {"routingConfig": {"autoMode": {"modelRoutingPreference": "BALANCED"}}}}),
    ("gemini", {"generationConfig": {"modelSelectionConfig": {"featureSelectionPreference": "PRIORITIZE_QUALITY"}}}),
]  # fmt: skip
PASSED = [
    ("openai-chat", {"models": ["plain"]}),
    ("openai-chat", {"models": []}),
    ("openai-chat", {"fallbacks": None, "route": None, "preset": None}),
    ("openai-chat", {"route": "fallback", "models": ["plain"]}),
    ("openai-chat", {"metadata": {"model": "dear"}}),
    ("openai-chat", {"provider": {"order": ["dear"], "allow_fallbacks": True}}),
    ("openai-chat", {"plugins": [{"id": "web", "engine": "exa"}, {"id": "auto-router", "excluded_models": ["dear"]}]}),
    ("openai-chat", {"plugins": [{"id": "auto-router", "pin_model": True}]}),
    ("openai-chat", {"tools": [{"type": "function", "function": {"name": "f", "parameters": SCHEMA}}]}),
    ("openai-chat", {"tools": [{"type": "openrouter:advisor", "parameters": {"model": "plain"}}]}),
    ("openai-chat", {"response_format": {"type": "json_schema", "json_schema": {"name": "n", "schema": SCHEMA}}}),
    ("openai-chat", {"messages": [{"role": "user", "content": '{"model": "dear"}'}, {"role": "assistant", "content": "a", "model": "dear"}]}),
    ("openai-responses", {"tools": [{"type": "function", "name": "f", "parameters": SCHEMA}]}),
    ("openai-responses", {"tools": [{"type": "image_generation", "model": "plain"}]}),
    ("openai-responses", {"text": {"format": {"type": "json_schema", "name": "n", "schema": SCHEMA}}}),
    ("openai-responses", {"prompt": None}),
    ("anthropic", {"fallbacks": [{"model": "plain", "speed": "fast", "thinking": {"type": "disabled"}}]}),
    ("anthropic", {"tools": [{"name": "f", "input_schema": SCHEMA}]}),
    ("anthropic", {"tools": [{"type": "custom", "name": "f", "input_schema": SCHEMA, "input_examples": [{"model": "dear"}]}]}),
    ("gemini", {"model": "models/plain"}),
    ("gemini", {"tools": [{"functionDeclarations": [{"name": "f", "parameters": SCHEMA}]}]}),
    ("gemini", {"generationConfig": {"responseSchema": SCHEMA}, "labels": {"model": "dear"}}),
]  # fmt: skip
ways = pytest.mark.parametrize("is_direct", [True, False], ids=["passed-on", "decoded"])


def path_of(dialect):
    return PATHS[dialect].replace("alias", "plain")


def body_of(dialect, members, *, is_direct):
    """Fields of a request to `plain`; without `store: false`, the Responses API does not pass it on."""
    body = {**BODIES[dialect], **({} if dialect == "gemini" else {"model": "plain"}), **members}
    if dialect == "openai-responses" and not is_direct:
        del body["store"]
    return json.dumps(body)


async def ask(running, dialect, secret, content, path=None):
    """The answer, and the request as the provider got it, None where it got none."""
    async with (
        httpx.AsyncClient(base_url=running.url, timeout=LIMIT, headers={"x-api-key": secret}) as client,
        asyncio.timeout(LIMIT),
    ):
        asking = asyncio.ensure_future(client.post(path or path_of(dialect), content=content))
        calling = asyncio.ensure_future(running.upstream.calls.get())
        await asyncio.wait((asking, calling), return_when=asyncio.FIRST_COMPLETED)
        call = calling.result() if calling.done() else None
        if call is not None:
            await call.answer(200, json.dumps(ANSWERS[dialect]).encode())
        calling.cancel()
        return await asking, call


@pytest.fixture
def store(tmp_path):
    return f"sqlite:///{tmp_path}/groundwire.db"


@ways
@pytest.mark.parametrize("dialect", list(PATHS))
async def test_a_member_that_leads_to_another_model_is_refused(store, dialect, is_direct):
    """A limit of tokens makes a body be decoded and written again, which is the other way to the provider."""
    members = [given for found, given in REFUSED if found == dialect]
    limits = () if is_direct else (KeyLimit("tokens", 10**9, "month"),)
    _, secret = await key_for(store, models=("plain",), limits=limits)
    async with gateway_before_raw(dialect, store) as running:
        for given in members:
            answer, call = await ask(running, dialect, secret, body_of(dialect, given, is_direct=is_direct))
            assert (given, answer.status_code, call) == (given, 403, None)


@pytest.mark.parametrize("dialect", list(PATHS))
async def test_what_names_no_other_model_passes_unchanged(store, dialect):
    _, secret = await key_for(store, models=("plain",))
    async with gateway_before_raw(dialect, store) as running:
        for given in (given for found, given in PASSED if found == dialect):
            answer, call = await ask(running, dialect, secret, body_of(dialect, given, is_direct=True))
            assert (given, answer.status_code) == (given, 200)
            sent = json.loads(call.body)
            assert {name: sent.get(name) for name in given} == given


@pytest.mark.parametrize("dialect", list(PATHS))
async def test_a_key_for_all_models_may_name_any(store, dialect):
    _, secret = await key_for(store)
    async with gateway_before_raw(dialect, store) as running:
        for given in (given for found, given in REFUSED if found == dialect):
            _, call = await ask(running, dialect, secret, body_of(dialect, given, is_direct=True))
            assert (given, call is not None) == (given, True)


async def test_a_member_is_a_name_at_the_provider_and_not_an_alias_of_ours(store):
    """The provider reads `alias` as a model of its own, which need not be the one that the alias stands for."""
    _, secret = await key_for(store, models=("alias", "house/second"))
    async with gateway_before_raw("openai-chat", store) as running:
        statuses = []
        for name in ("alias", "second", "real"):
            body = {**BODIES["openai-chat"], "models": [name]}
            statuses.append((await ask(running, "openai-chat", secret, json.dumps(body)))[0].status_code)
    assert statuses == [403, 200, 200]


@pytest.mark.parametrize(("glob", "status"), [("house/*", 403), ("house/*@preset/x", 200)])
async def test_a_preset_behind_a_name_must_be_meant_by_the_key(store, glob, status):
    """A preset is stored at the provider, and may name other models than the one before it."""
    _, secret = await key_for(store, models=(glob,))
    body = json.dumps({**BODIES["openai-chat"], "model": "house/plain@preset/x"})
    async with gateway_before_raw("openai-chat", store) as running:
        answer, call = await ask(running, "openai-chat", secret, body)
    assert (answer.status_code, call is not None) == (status, status == 200)


async def test_a_nested_member_that_stands_twice_leads_to_no_other_model(store):
    _, secret = await key_for(store, models=("plain",))
    inner = '{"id":"fusion","analysis_models":["dear"],"analysis_models":["plain"],"model":"plain"}'
    body = body_of("openai-chat", {}, is_direct=True)[:-1] + f',"plugins":[{inner}]}}'
    async with gateway_before_raw("openai-chat", store) as running:
        answer, call = await ask(running, "openai-chat", secret, body)
    assert (answer.status_code, b"dear" in call.body) == (200, False)


async def test_the_refusal_is_in_the_dialect_and_names_member_and_model(store):
    _, secret = await key_for(store, models=("plain",))
    async with gateway_before_raw("openai-chat", store) as running:
        answer, _ = await ask(
            running, "openai-chat", secret, body_of("openai-chat", {"models": ["dear"]}, is_direct=True)
        )
    error = answer.json()["error"]
    assert (answer.status_code, error["code"]) == (403, "not_allowed")
    assert "dear" in error["message"]
    assert "models[0]" in error["message"]


async def test_tools_that_a_conversation_kept_are_checked_for_the_key_that_uses_them(store):
    (_, free), (_, bound) = await key_for(store), await key_for(store, models=("plain",))
    first = {"model": "plain", "input": "Hi", "conversation": "c", "tools": [PIXEL]}
    async with gateway_before_raw("openai-responses", store) as running:
        made, _ = await ask(running, "openai-responses", free, json.dumps(first))
        later = json.dumps({"model": "plain", "input": "Again", "conversation": "c"})
        refused, call = await ask(running, "openai-responses", bound, later)
    assert (made.status_code, refused.status_code, call) == (200, 403, None)


async def test_tools_in_the_history_of_a_conversation_are_checked_for_the_key_that_uses_them(store):
    (_, free), (_, bound) = await key_for(store), await key_for(store, models=("plain",))
    first = {"model": "plain", "input": tool_search(PIXEL), "conversation": "c"}
    async with gateway_before_raw("openai-responses", store) as running:
        made, _ = await ask(running, "openai-responses", free, json.dumps(first))
        later = json.dumps({"model": "plain", "input": "Again", "conversation": "c"})
        refused, call = await ask(running, "openai-responses", bound, later)
    assert (made.status_code, refused.status_code, call) == (200, 403, None)


@pytest.mark.parametrize(
    ("given", "status"), [(given, 403) for found, given in REFUSED if found == "gemini"] + [({}, 200)]
)
async def test_the_relay_holds_a_key_to_its_models(store, given, status):
    _, secret = await key_for(store, models=("plain",))
    path = f"/relay/desk{path_of('gemini')}"
    async with gateway_before_raw("gemini", store) as running:
        answer, call = await ask(running, "gemini", secret, body_of("gemini", given, is_direct=True), path)
    assert (answer.status_code, call is not None) == (status, status == 200)


async def test_tools_of_a_relayed_session_are_checked_for_the_key_that_uses_them(store):
    (_, free), (_, bound) = await key_for(store), await key_for(store, models=("plain",))
    rag = {"retrieval": {"vertexRagStore": {"ragRetrievalConfig": {"ranking": {"llmRanker": {"modelName": "dear"}}}}}}
    async with gateway_before_raw("gemini", store) as running:
        async with httpx.AsyncClient(base_url=running.url, headers={"x-api-key": free}) as client:
            assert (await client.put("/relay/desk/tools", json={"tools": [rag]})).status_code == 200
        body = body_of("gemini", {}, is_direct=True)
        answer, call = await ask(running, "gemini", bound, body, f"/relay/desk{path_of('gemini')}")
    assert (answer.status_code, call) == (403, None)


@pytest.mark.parametrize(
    ("path", "dialect"),
    [
        ("/v1/messages/count_tokens", "anthropic"),
        ("/v1/responses/input_tokens", "openai-responses"),
        ("/v1beta/models/plain:countTokens", "gemini"),
    ],
)
async def test_counting_tokens_refuses_what_asking_would_refuse(store, path, dialect):
    _, secret = await key_for(store, models=("plain",))
    members = {"model": "models/dear"} if dialect == "gemini" else {"models": ["dear"]}
    async with gateway_before_raw(dialect, store) as running:
        allowed, _ = await ask(running, dialect, secret, body_of(dialect, {}, is_direct=True), path)
        refused, _ = await ask(running, dialect, secret, body_of(dialect, members, is_direct=True), path)
    assert (allowed.status_code, refused.status_code) == (200, 403)
