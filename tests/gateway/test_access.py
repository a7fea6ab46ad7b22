"""Keys at the gateway: who is let in, to which models and tools, how often, and what a refusal looks like."""

import asyncio
import json

import anthropic
import httpx2 as httpx
import openai
import pytest
from google import genai
from google.genai import errors, types

from groundwire import Registry, tool
from groundwire.assembly import Runtime
from groundwire.contracts.keys import ApiKey, KeyLimit
from groundwire.contracts.servers import ServerSettings
from groundwire.providers.catalogue import ModelEntry
from groundwire.runtime.clock import SystemClock
from groundwire.serving.keys import digest_of, new_secret, shown_part
from tests.gateway.raw_http2 import http2_stream
from tests.gateway.raw_upstream import LIMIT, gateway_before_raw

CHAT = {"messages": [{"role": "user", "content": "hi"}]}


async def key_for(store, **options):
    """A key that is stored, as another process would do it."""
    secret = new_secret().reveal()
    key = ApiKey(
        **{
            "key_id": f"key_{secret[3:12]}",
            "tenant": "default",
            "name": "test",
            "digest": digest_of(secret),
            "prefix": shown_part(secret),
            "scopes": ("models",),
            "created_at": SystemClock().now(),
            **options,
        }
    )
    async with Runtime(Registry(), store) as runtime:
        await runtime.store.create_key(key)
    return key, secret


async def chat(running, secret="", **body):
    headers = {"authorization": f"Bearer {secret}"} if secret else {}
    async with httpx.AsyncClient(base_url=running.url, headers=headers) as client:
        return await client.post("/v1/chat/completions", json={"model": running.model, **CHAT, **body})


@pytest.fixture
def store(tmp_path):
    return f"sqlite:///{tmp_path}/groundwire.db"


async def test_without_any_key_everybody_on_this_machine_is_let_in_whatever_they_send(gateway, store):
    async with gateway("Hello.", store=store) as running:
        assert (await chat(running)).status_code == 200
        assert (await chat(running, "anything")).status_code == 200


@pytest.mark.parametrize("path", ["/api/calls", "/v1/chat/completions", "/relay/desk/results", "/mcp"])
async def test_without_any_key_a_page_of_another_site_can_do_nothing_here(gateway, path):
    done = []

    @tool(category="action")
    def note(text: str) -> str:
        done.append(text)
        return text

    async with (
        gateway("Hello.", registry=Registry([note])) as running,
        httpx.AsyncClient(base_url=running.url) as client,
    ):
        for headers in ({"origin": "https://evil.example"}, {"host": "evil.example"}):
            body = {"tool": "note", "arguments": {"text": "hi"}, "model": running.model, **CHAT}
            answer = await client.post(path, json=body, headers={**headers, "content-type": "text/plain"})
            assert answer.status_code == 403
        assert (done, running.upstream.requests) == ([], [])


async def test_from_the_first_key_on_every_request_needs_a_good_one(gateway, store):
    async with gateway("Hello.", store=store) as running:
        assert (await chat(running)).status_code == 200
        _, secret = await key_for(store)
        assert (await chat(running)).status_code == 401
        assert (await chat(running, "wrong")).status_code == 401
        assert (await chat(running, secret)).status_code == 200


async def test_a_key_that_is_revoked_opens_nothing_from_that_moment(gateway, store):
    key, secret = await key_for(store)
    async with gateway("Hello.", store=store) as running:
        assert (await chat(running, secret)).status_code == 200
        async with Runtime(Registry(), store) as elsewhere:
            await elsewhere.store.revoke_key(key.tenant, key.key_id, now=SystemClock().now())
        answer = await chat(running, secret)
    assert (answer.status_code, answer.json()["error"]["code"]) == (401, "key_revoked")
    assert secret not in answer.text


async def test_the_sdks_raise_their_own_errors_for_a_wrong_key(gateway):
    async with gateway("Hello.", environ={"GROUNDWIRE_MASTER_KEY": "right"}) as running:
        async with openai.AsyncOpenAI(base_url=running.openai_url, api_key="wrong", max_retries=0) as client:
            with pytest.raises(openai.AuthenticationError):
                await client.chat.completions.create(model=running.model, **CHAT)
            with pytest.raises(openai.AuthenticationError):
                await client.models.list()
        async with anthropic.AsyncAnthropic(base_url=running.url, api_key="wrong", max_retries=0) as client:
            with pytest.raises(anthropic.AuthenticationError):
                await client.messages.create(model=running.model, max_tokens=5, **CHAT)
        client = genai.Client(api_key="wrong", http_options=types.HttpOptions(base_url=running.gemini_url))
        with pytest.raises(errors.ClientError) as caught:
            await client.aio.models.generate_content(model=running.model, contents="hi")
        await client.aio.aclose()
        client.close()
        for name in ("x-api-key", "x-goog-api-key"):
            async with httpx.AsyncClient(base_url=running.url, headers={name: "right"}) as right:
                assert (await right.get("/v1/models")).status_code == 200
        async with httpx.AsyncClient(base_url=running.url) as right:
            assert (await right.get("/v1beta/models?key=right")).status_code == 200
    assert caught.value.code == 401


async def test_a_key_is_for_its_models_and_lists_no_others(gateway, store):
    _, secret = await key_for(store, models=("gpt-mini",))
    entries = tuple(ModelEntry(id=name, provider="openai") for name in ("gpt-mini", "gpt-maxi"))
    async with gateway("Hello.", store=store, models=entries) as running:
        assert (await chat(running, secret, model="gpt-mini")).status_code == 200
        refused = await chat(running, secret, model="gpt-maxi")
        async with httpx.AsyncClient(base_url=running.url, headers={"x-api-key": secret}) as client:
            listed = (await client.get("/v1/models")).json()
    assert (refused.status_code, refused.json()["error"]["code"]) == (403, "not_allowed")
    assert [entry["id"] for entry in listed["data"]] == ["gpt-mini"]


async def test_a_name_that_stands_twice_leads_to_no_model_that_the_key_is_not_for(store):
    _, secret = await key_for(store, models=("plain",))
    body = b'{"model":"alias","messages":[{"role":"user","content":"hi"}],"model":"plain"}'
    async with (
        gateway_before_raw("openai-chat", store) as running,
        httpx.AsyncClient(base_url=running.url, headers={"x-api-key": secret}) as client,
    ):
        asking = asyncio.create_task(client.post("/v1/chat/completions", content=body))
        call = await running.upstream.next_call()
        await call.answer(200, b"{}")
        assert (await asking).status_code == 200
    assert (call.body.count(b'"model"'), b'"model":"plain"' in call.body) == (1, True)


async def test_a_limit_of_requests_holds_at_its_edge_and_says_when_it_ends(gateway, store):
    _, secret = await key_for(store, limits=(KeyLimit("requests", 2, "month"),))
    async with gateway("Hello.", store=store) as running:
        codes = [(await chat(running, secret)).status_code for _ in range(2)]
        answer = await chat(running, secret)
    assert codes == [200, 200]
    assert (answer.status_code, answer.json()["error"]["code"]) == (429, "rate_limited")
    assert int(answer.headers["retry-after"]) > 0


@pytest.mark.parametrize("stream", [False, True])
async def test_tokens_are_counted_and_stop_the_next_request(gateway, store, stream):
    _, secret = await key_for(store, limits=(KeyLimit("tokens", 1, "month"),))
    async with gateway("Hello.", store=store) as running:
        assert (await chat(running, secret, stream=stream)).status_code == 200
        answer = await chat(running, secret)
    assert (answer.status_code, answer.json()["error"]["code"]) == (429, "rate_limited")


@pytest.mark.parametrize("base", ["", "/relay/desk"])
@pytest.mark.parametrize(("bound", "fit"), [({}, 2), ({"maxOutputTokens": 500}, 4), ({"maxOutputTokens": 10**400}, 1)])
async def test_requests_at_once_do_not_pass_a_limit_of_tokens_together(store, base, bound, fit):
    question = {"contents": [{"role": "user", "parts": [{"text": "hi"}]}], "generationConfig": bound}
    answer = {
        "candidates": [{"content": {"role": "model", "parts": [{"text": "Hello."}]}, "finishReason": "STOP"}],
        "usageMetadata": {"promptTokenCount": 5, "candidatesTokenCount": 5, "totalTokenCount": 10},
    }
    _, secret = await key_for(store, limits=(KeyLimit("tokens", 2000, "month"),))
    async with (
        gateway_before_raw("gemini", store) as running,
        asyncio.timeout(LIMIT),
        httpx.AsyncClient(base_url=running.url, headers={"x-api-key": secret}, timeout=LIMIT) as client,
    ):

        def ask():
            return client.post(f"{base}/v1beta/models/alias:generateContent", json=question)

        asking = []
        calls = []
        for _ in range(fit):
            asking.append(asyncio.create_task(ask()))
            calls.append(await running.upstream.next_call())
        refused = await ask()
        first, *others = calls
        first.break_off()
        failed = await asking[0]
        asking[0] = asyncio.create_task(ask())
        for call in (*others, await running.upstream.next_call()):
            await call.answer(200, json.dumps(answer).encode())
        statuses = [response.status_code for response in await asyncio.gather(*asking)]
        assert running.upstream.calls.empty()
    assert (refused.status_code, refused.headers["retry-after"]) == (429, "1")
    assert failed.status_code >= 500
    assert statuses == [200] * fit


@pytest.mark.parametrize("stream", [False, True], ids=["unary", "streamed"])
@pytest.mark.parametrize("base", ["", "/relay/desk"])
async def test_an_answer_counts_though_its_caller_leaves_before_the_end(store, base, stream):
    question = {"contents": [{"role": "user", "parts": [{"text": "word " * 100}]}]}
    path = f"{base}/v1beta/models/alias:{'streamGenerateContent?alt=sse' if stream else 'generateContent'}"
    piece = {"candidates": [{"content": {"role": "model", "parts": [{"text": "word " * 100}]}}]}
    needs = 250 if stream else 125  # tokens, of four characters each: the question's, and the answer's so far
    secrets = [(await key_for(store, limits=(KeyLimit("tokens", most, "hour"),)))[1] for most in (needs, needs + 50)]
    async with gateway_before_raw("gemini", store) as running, asyncio.timeout(LIMIT):
        for secret, has_room in zip(secrets, (False, True), strict=True):
            async with httpx.AsyncClient(base_url=running.url, headers={"x-api-key": secret}) as client:
                asking = client.stream("POST", path, json=question)
                opening = asyncio.ensure_future(asking.__aenter__())
                call = await running.upstream.next_call()
                if stream:
                    await call.begin_stream()
                    await call.chunk(b"data: %b\n\n" % json.dumps(piece).encode())
                    await opening
                    await asking.__aexit__(None, None, None)
                else:
                    opening.cancel()
                    await asyncio.gather(opening, return_exceptions=True)
            while running.application.tally.in_flight:  # noqa: ASYNC110 - the server has no event for it
                await asyncio.sleep(0)
            call.break_off()
            async with httpx.AsyncClient(base_url=running.url, headers={"x-api-key": secret}) as client:
                again = asyncio.ensure_future(client.post(path, json=question))
                if has_room:
                    (await running.upstream.next_call()).break_off()
                assert ((await again).status_code != 429) is has_room


@pytest.mark.parametrize("stream", [False, True], ids=["unary", "streamed"])
@pytest.mark.parametrize(("most", "has_room"), [(500, False), (600, True)])
async def test_steps_with_our_tools_count_though_the_caller_leaves_before_the_next_one_ends(
    store, stream, most, has_room
):
    @tool(category="retrieval")
    async def kb_search(query: str) -> dict:
        """Search."""
        return {"pages": [query]}

    call = {"id": "c1", "type": "function", "function": {"name": "kb_search", "arguments": '{"query": "x"}'}}
    message = {"role": "assistant", "content": None, "tool_calls": [call]}
    usage = {"prompt_tokens": 480, "completion_tokens": 20, "total_tokens": 500}
    choice = {"index": 0, "message": message, "finish_reason": "tool_calls"}
    piece = {"index": 0, "delta": {**message, "tool_calls": [{**call, "index": 0}]}, "finish_reason": "tool_calls"}
    _, secret = await key_for(store, scopes=("models", "tools"), limits=(KeyLimit("tokens", most, "hour"),))
    question = {"model": "alias", **CHAT, "tools": [{"type": "groundwire", "name": "kb_*"}], "stream": stream}
    headers = {"x-api-key": secret}
    async with gateway_before_raw("openai-chat", store, Registry([kb_search])) as running, asyncio.timeout(LIMIT):
        async with httpx.AsyncClient(base_url=running.url, headers=headers) as client:
            asking = asyncio.ensure_future(client.post("/v1/chat/completions", json=question))
            first = await running.upstream.next_call()
            answer = {"id": "r1", "object": "chat.completion", "created": 1, "model": "real", "usage": usage}
            if stream:
                await first.begin_stream()
                event = {**answer, "object": "chat.completion.chunk", "choices": [piece]}
                await first.chunk(b"data: %b\n\ndata: [DONE]\n\n" % json.dumps(event).encode())
                await first.end_stream()
            else:
                await first.answer(200, json.dumps({**answer, "choices": [choice]}).encode())
            second = await running.upstream.next_call()
            asking.cancel()
            await asyncio.gather(asking, return_exceptions=True)
        while running.application.tally.in_flight:  # noqa: ASYNC110 - the server has no event for it
            await asyncio.sleep(0)
        second.break_off()
        async with httpx.AsyncClient(base_url=running.url, headers=headers) as client:
            again = asyncio.ensure_future(client.post("/v1/chat/completions", json=question))
            if has_room:
                (await running.upstream.next_call()).break_off()
            assert ((await again).status_code != 429) is has_room


async def test_a_key_is_for_its_tools_and_brings_its_default_ones(gateway, store):
    @tool(category="retrieval")
    async def kb_search(query: str) -> dict:
        """Search."""
        return {}

    @tool(category="retrieval")
    async def hr_search(query: str) -> dict:
        """Search."""
        return {}

    options = {"tools": ("kb_*",), "default_tools": ("kb_search",), "scopes": ("models", "tools")}
    _, secret = await key_for(store, **options)
    async with gateway("Hello.", store=store, registry=Registry([kb_search, hr_search])) as running:
        refused = await chat(running, secret, tools=[{"type": "groundwire", "name": "hr_search"}])
        await chat(running, secret)
        offered = running.upstream.requests[-1].body["tools"]
    assert (refused.status_code, [each["function"]["name"] for each in offered]) == (400, ["kb_search"])


async def test_tenants_do_not_see_each_others_conversations(gateway, store):
    (_, one), (_, two) = await key_for(store, tenant="one"), await key_for(store, tenant="two")
    async with gateway("a", "b", store=store) as running:
        for secret in (one, two):
            async with httpx.AsyncClient(base_url=running.url, headers={"x-api-key": secret}) as client:
                body = {"model": running.model, "input": f"of {secret[:8]}", "conversation": "same"}
                made = (await client.post("/v1/responses", json=body)).json()
        async with httpx.AsyncClient(base_url=running.url, headers={"x-api-key": one}) as client:
            assert (await client.get(f"/v1/responses/{made['id']}")).status_code == 404
        said = running.upstream.requests[-1].body["messages"]
    assert [message["content"] for message in said] == [f"of {two[:8]}"]


ROUTES = [
    ("POST", "/v1/chat/completions", lambda body: body["error"]["code"] == "not_allowed"),
    ("POST", "/v1/responses", lambda body: body["error"]["code"] == "not_allowed"),
    ("POST", "/v1/messages", lambda body: body["error"]["type"] == "permission_error"),
    ("POST", "/v1beta/models/sim:generateContent", lambda body: body["error"]["status"] == "PERMISSION_DENIED"),
    (
        "POST",
        "/relay/desk/v1beta/models/sim:generateContent",
        lambda body: body["error"]["status"] == "PERMISSION_DENIED",
    ),
    ("GET", "/relay/desk/calls", lambda body: body["error"]["status"] == "PERMISSION_DENIED"),
    ("GET", "/v1/models", lambda body: body["error"]["code"] == "not_allowed"),
    ("GET", "/api/calls", lambda body: body["error"]["code"] == "not_allowed"),
    ("POST", "/mcp", lambda body: body["error"]["code"] == "not_allowed"),
    ("GET", "/metrics", lambda body: body["error"]["code"] == "not_allowed"),
    ("GET", "/health/ready", lambda body: body["error"]["code"] == "not_allowed"),
    ("GET", "/openapi.json", lambda body: body["error"]["code"] == "not_allowed"),
]


@pytest.mark.parametrize(
    ("foreign", "setting"),
    [({"host": "evil.example"}, "allowedHosts"), ({"origin": "https://evil.example"}, "allowedOrigins")],
    ids=["name", "page"],
)
async def test_a_page_that_a_browser_is_led_to_reaches_no_route_of_an_open_server(gateway, foreign, setting):
    async with gateway("Hello.") as running, httpx.AsyncClient(base_url=running.url) as client:
        answers = [await client.request(method, path, headers=foreign, json={}) for method, path, _ in ROUTES]
    assert [answer.status_code for answer in answers] == [403] * len(ROUTES)
    assert [check(answer.json()) for (_, _, check), answer in zip(ROUTES, answers, strict=True)] == [True] * len(ROUTES)
    assert setting in answers[0].text


async def test_a_name_that_is_allowed_is_served_and_so_is_any_with_a_key(gateway, store):
    other = {"host": "evil.example"}
    async with (
        gateway("Hello.", store=store, server=ServerSettings(allowed_hosts=("GW.test",))) as running,
        httpx.AsyncClient(base_url=running.url, headers={"host": "gw.test"}) as client,
    ):
        assert (await client.get("/v1/models")).status_code == 200
        _, secret = await key_for(store)
        assert (await client.get("/v1/models", headers={**other, "x-api-key": secret})).status_code == 200
        assert (await client.get("/health/ready", headers=other)).status_code == 200


async def test_over_http_2_a_name_that_suddenly_means_this_machine_is_refused_too(gateway):
    told = {}
    async with gateway("Hello.") as running:
        for name in ("evil.example", "localhost", "127.0.0.1:80"):
            async with http2_stream(httpx.URL(running.url)) as stream, asyncio.timeout(LIMIT):
                stream.begin("POST", "/v1/chat/completions", name)
                stream.send(json.dumps({"model": running.model, **CHAT}).encode(), is_last=True)
                told[name] = json.loads(await stream.answer())
        assert len(running.upstream.requests) == 2
    assert told["evil.example"]["error"]["code"] == "not_allowed"
    assert [told[name]["choices"][0]["message"]["content"] for name in ("localhost", "127.0.0.1:80")] == ["Hello."] * 2
