"""Command-line coding agents at the gateway: large requests, unlisted fields, and what else they do on the wire."""

import asyncio
import gzip
import json
import zlib

import httpx2 as httpx
import pytest
import zstandard
from pyreqwest.client import ClientBuilder

from groundwire.testing import Answer, Ask
from tests.gateway.coding_agents import AGENTS, FILES, AnthropicAgent, ChatAgent, GeminiAgent, ResponsesAgent, read
from tests.gateway.conversation import assert_private_data_came_back, upstreams

LIMIT = 30
SCRIPT = (
    Answer("I look.", reasoning="Two are wanted.", calls=tuple(Ask("read_file", {"path": name}) for name in FILES)),
    Answer("Both were read."),
)
HELLO = {"model": "sim", "messages": [{"role": "user", "content": "Hi"}]}


async def post(running, agent, body):
    path = agent.path.format(model=running.model)
    async with httpx.AsyncClient(base_url=running.url, timeout=LIMIT) as client:
        answer = await client.post(path, json=body, headers=agent.headers)
    assert answer.status_code == 200, answer.text
    return answer


@upstreams
@pytest.mark.parametrize("agent", AGENTS, ids=lambda agent: type(agent).__name__)
@pytest.mark.requirement("E-017", "X-21")
async def test_a_coding_agent_completes_a_tool_conversation_at_every_upstream(gateway, agent, upstream):
    async with gateway(*SCRIPT, upstream=upstream) as running:
        first = agent.first(running.model)
        one = await post(running, agent, first)
        two = await post(running, agent, agent.second(first, one.content))
    assert 40_000 < len(json.dumps(first)) < 120_000
    assert [json.loads(item.call.raw) for item in read(agent.dialect, one.content).calls] == [
        {"path": name} for name in FILES
    ]
    assert read(agent.dialect, two.content).text == "Both were read."
    assert_private_data_came_back(running.upstream.requests[1].body, upstream)


@pytest.mark.parametrize("agent", [AnthropicAgent(), ResponsesAgent(), GeminiAgent()], ids=lambda agent: agent.dialect)
async def test_a_provider_of_the_same_dialect_gets_every_field(gateway, agent):
    async with gateway("Hello.", upstream=agent.dialect) as running:
        sent = agent.first(running.model)
        await post(running, agent, sent)
    model = {"model": running.model.partition("/")[2]} if "model" in sent else {}
    assert running.upstream.requests[0].body == {**sent, **model}


async def test_a_model_that_knows_only_the_newer_name_of_the_limit_gets_that(gateway):
    async with gateway("Hello.", upstream="openai-chat") as running:
        sent = ChatAgent().first(running.model)
        await post(running, ChatAgent(), sent)
    limits = {name: running.upstream.requests[0].body.get(name) for name in ("max_tokens", "max_completion_tokens")}
    assert limits == {"max_tokens": None, "max_completion_tokens": 8000}


async def test_without_a_limit_a_claude_may_write_whole_files(gateway):
    async with gateway("Hello.", upstream="anthropic") as running:
        await post(running, ResponsesAgent(), ResponsesAgent().first(running.model))
    assert running.upstream.requests[0].body["max_tokens"] == 32_000


@upstreams
async def test_a_freeform_tool_is_called_with_plain_text_by_any_model(gateway, upstream):
    patch = "*** Begin Patch\n+one line\n"
    script = (Answer(calls=(Ask("apply_patch", {"input": patch}),)), Answer("Edited."))
    async with gateway(*script, upstream=upstream) as running:
        agent = ResponsesAgent()
        first = agent.first(running.model)
        one = await post(running, agent, first)
        follow_up = agent.second(first, one.content)
        two = await post(running, agent, follow_up)
    call, result = follow_up["input"][-2:]
    assert (call["type"], call["name"], call["input"]) == ("custom_tool_call", "apply_patch", patch)
    assert result["type"] == "custom_tool_call_output"
    assert read("openai-responses", two.content).text == "Edited."


@upstreams
@pytest.mark.parametrize(
    ("called", "namespace", "name"),
    [
        ("spawn", "helpers", "spawn"),
        ("mcp__web__search", "mcp__web", "search"),
        ("mcp__kb__search", "mcp__kb", "search"),
    ],
)
async def test_a_function_in_a_namespace_is_called_there_by_any_model(gateway, upstream, called, namespace, name):
    arguments = {"path": "a", "old": "b", "new": "c"}
    async with gateway(Answer(calls=(Ask(called, arguments),)), "Done.", upstream=upstream) as running:
        agent = ResponsesAgent()
        first = agent.first(running.model)
        one = await post(running, agent, first)
        follow_up = agent.second(first, one.content)
        two = await post(running, agent, follow_up)
    call = follow_up["input"][-2]
    assert (call["namespace"], call["name"], json.loads(call["arguments"])) == (namespace, name, arguments)
    assert read("openai-responses", two.content).text == "Done."


@pytest.mark.parametrize("upstream", ["openai-chat", "anthropic", "gemini"])
async def test_tools_that_only_openai_runs_are_left_out_and_named(gateway, upstream):
    agent = ResponsesAgent()
    async with gateway("Hello.", upstream=upstream) as running:
        body = {**agent.first(running.model), "stream": False}
        body["tools"] += [{"type": "local_shell"}, {"type": "image_generation", "output_format": "png"}]
        shell = {"type": "local_shell_call", "id": "lsh_1", "call_id": "c", "status": "completed", "action": {}}
        output = {"type": "local_shell_call_output", "id": "lsh_1", "output": "{}"}
        body["input"] += [shell, output, {"role": "user", "content": "Go on."}]
        answer = await post(running, agent, body)
    warnings = answer.headers["x-groundwire-warnings"]
    places = [
        place for place, tool in enumerate(body["tools"]) if tool["type"] not in ("function", "custom", "namespace")
    ]
    assert [f"tool_dropped tools[{place}]" in warnings for place in places] == [True, True, True]
    assert answer.json()["output"][-1]["content"][0]["text"] == "Hello."


async def test_tools_that_only_openai_runs_reach_it(gateway):
    async with gateway("Hello.", upstream="openai-responses") as running:
        body = {**ResponsesAgent().first(running.model), "store": True}
        await post(running, ResponsesAgent(), body)
    assert running.upstream.requests[0].body["tools"] == body["tools"]
    assert running.upstream.requests[0].body["client_metadata"] == body["client_metadata"]


@upstreams
async def test_beta_headers_go_to_anthropic_and_to_nobody_else(gateway, upstream):
    agent = AnthropicAgent()
    async with gateway("Hello.", upstream=upstream) as running:
        await post(running, agent, agent.first(running.model))
    expected = agent.headers["anthropic-beta"] if upstream == "anthropic" else None
    assert running.upstream.requests[0].headers.get("anthropic-beta") == expected


async def test_the_root_says_that_somebody_is_there(gateway):
    async with gateway() as running, httpx.AsyncClient(base_url=running.url) as client:
        head, whole = await client.head("/"), await client.get("/")
    assert (head.status_code, head.content) == (200, b"")
    assert (whole.status_code, whole.json()["name"]) == (200, "groundwire")


async def test_models_are_listed_whatever_else_is_asked_of_the_list(gateway):
    async with gateway() as running, httpx.AsyncClient(base_url=running.url) as client:
        listed = await client.get("/v1/models?limit=1000&beta=true", headers={"anthropic-version": "2023-06-01"})
    assert listed.status_code == 200
    assert listed.json()["has_more"] is False
    assert "sim" in [model["id"] for model in listed.json()["data"]]


async def test_a_whole_request_can_be_counted(gateway):
    agent = AnthropicAgent()
    async with gateway(upstream="anthropic") as running:
        body = {key: value for key, value in agent.first(running.model).items() if key not in ("max_tokens", "stream")}
        async with httpx.AsyncClient(base_url=running.url) as client:
            counted = await client.post("/v1/messages/count_tokens?beta=true", json=body, headers=agent.headers)
    assert counted.status_code == 200
    assert 15_000 < counted.json()["input_tokens"] < 30_000


async def test_a_models_name_with_a_slash_may_stand_without_models_before_it(gateway):
    async with gateway("Hello.", upstream="gemini") as running:
        agent = GeminiAgent()
        async with httpx.AsyncClient(base_url=running.url) as client:
            path = f"/v1beta/{running.model}:streamGenerateContent?alt=sse"
            answer = await client.post(path, json=agent.first(""), headers=agent.headers)
    assert read("gemini", answer.content).text == "Hello."


@pytest.mark.parametrize(
    ("encoding", "pack"),
    [
        ("gzip", gzip.compress),
        ("deflate", zlib.compress),
        ("zstd", zstandard.ZstdCompressor().compress),
        ("identity", bytes),
        ("gzip, zstd", lambda data: zstandard.ZstdCompressor().compress(gzip.compress(data))),
    ],
)
async def test_a_packed_body_is_unpacked(gateway, encoding, pack):
    agent = AnthropicAgent()
    async with gateway("Hello.", upstream="anthropic") as running:
        sent = agent.first(running.model)
        headers = {**agent.headers, "content-encoding": encoding}
        async with httpx.AsyncClient(base_url=running.url) as client:
            answer = await client.post(agent.path, content=pack(json.dumps(sent).encode()), headers=headers)
    assert answer.status_code == 200
    assert running.upstream.requests[0].body["tools"] == sent["tools"]


@pytest.mark.parametrize("encoding", ["br", "gzip", "deflate", "zstd"])
async def test_a_body_that_cannot_be_unpacked_is_refused_in_the_clients_dialect(gateway, encoding):
    agent = AnthropicAgent()
    async with gateway(upstream="anthropic") as running, httpx.AsyncClient(base_url=running.url) as client:
        headers = {**agent.headers, "content-encoding": encoding}
        answer = await client.post(agent.path, content=b"{not packed}", headers=headers)
    assert (answer.status_code, answer.json()["error"]["type"]) == (400, "invalid_request_error")


async def test_an_answer_is_not_packed_although_it_might_be(gateway):
    async with gateway() as running, httpx.AsyncClient(base_url=running.url) as client:
        answer = await client.post("/v1/chat/completions", json=HELLO, headers={"accept-encoding": "gzip, br, zstd"})
    assert answer.status_code == 200
    assert "content-encoding" not in answer.headers


async def test_http_2_is_spoken_to_who_knows_that_before(gateway):
    async with gateway() as running, ClientBuilder().http2_prior_knowledge().build() as client:
        url = f"{running.url}/v1/chat/completions"
        whole = await client.post(url).body_json(HELLO).build().send()
        streamed = await client.post(url).body_json({**HELLO, "stream": True}).build().send()
        assert (whole.status, whole.version) == (200, "HTTP/2.0")
        assert (await streamed.bytes()).to_bytes().endswith(b"data: [DONE]\n\n")


async def test_a_connection_serves_many_requests_and_says_when_to_go_on(gateway):
    body = json.dumps(HELLO).encode()
    head = b"POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\ncontent-length: %d\r\n" % len(body)
    async with gateway() as running, asyncio.timeout(LIMIT):
        host, port = running.url.removeprefix("http://").split(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        writer.write(head + b"expect: 100-continue\r\n\r\n")
        assert await reader.readuntil(b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
        writer.write(body)
        first = await _answer(reader)
        writer.write(head + b"\r\n" + body)
        second = await _answer(reader)
        writer.close()
        await writer.wait_closed()
    assert first["choices"][0]["finish_reason"] == second["choices"][0]["finish_reason"] == "stop"


async def _answer(reader):
    head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
    assert head.startswith("http/1.1 200")
    return json.loads(await reader.readexactly(int(head.partition("content-length: ")[2].partition("\r\n")[0])))


@pytest.mark.parametrize("upstream", ["anthropic", "openai-chat"])
async def test_a_very_long_stream_arrives_whole(gateway, upstream):
    text = "".join(f"line {number}\n" for number in range(9_000))
    agent = AnthropicAgent()
    async with gateway(text, upstream=upstream, piece=40) as running:
        answer = await post(running, agent, agent.first(running.model))
    assert read("anthropic", answer.content).text == text
