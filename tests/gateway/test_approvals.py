"""Calls of server tools that a person has to approve: the client learns what they wait for, and its request then passes once."""

import asyncio
import json

import anthropic
import httpx2 as httpx
import openai
import pytest
from google import genai
from google.genai import types

from groundwire import Registry, Runtime, tool
from groundwire.contracts.keys import ApiKey
from groundwire.contracts.records import ConfirmationStatus
from groundwire.serving.keys import digest_of, new_secret, shown_part
from groundwire.testing import Answer, Ask

LIMIT = 30
HEADER = "x-groundwire-approval-id"
REFUNDS = (Answer(calls=(Ask("refund", {"order": "A-7", "cents": 500}),)), Answer("I asked for it."))
CHAT = {"messages": [{"role": "user", "content": "Refund order A-7."}], "tools": [{"type": "groundwire", "name": "*"}]}
both = pytest.mark.parametrize("stream", [False, True], ids=["unary", "streamed"])


def shop(**options):
    paid = []

    @tool(category="action", confirm=True, approval_text="Refund {cents} cents of order {order}", **options)
    async def refund(order: str, cents: int) -> dict:
        """Refund an order."""
        paid.append((order, cents))
        return {"refunded": cents}

    return Registry([refund]), paid


async def add_key(store, key_id, *scopes, tenant="default"):
    secret = new_secret().reveal()
    key = ApiKey(
        key_id=key_id,
        tenant=tenant,
        name="shop",
        digest=digest_of(secret),
        prefix=shown_part(secret),
        scopes=scopes or ("models", "tools"),
    )
    async with Runtime(Registry(), store) as runtime:
        await runtime.store.create_key(key)
    return secret


async def send(running, secret="k", headers=None, **more):
    async with httpx.AsyncClient(base_url=running.url, timeout=LIMIT) as client:
        answer = await client.post(
            "/v1/chat/completions",
            json={"model": running.model, **CHAT, **more},
            headers={"authorization": f"Bearer {secret}", **(headers or {})},
        )
    assert answer.status_code == 200, answer.text
    return answer


async def approve(store, approval_id, tenant="default"):
    """As `groundwire approvals approve` does it, in another process."""
    async with Runtime(Registry(), store) as runtime:
        await runtime.approve(approval_id, by="ada", tenant=tenant)


@pytest.mark.parametrize("keyed", [False, True], ids=["without keys", "with a key"])
async def test_a_request_without_a_session_passes_once_after_its_approval(gateway, shared_store, keyed):
    registry, paid = shop()
    secret = await add_key(shared_store, "key_1") if keyed else "k"
    async with gateway(*REFUNDS, registry=registry, store=shared_store) as running:
        first = await send(running, secret)
        await approve(shared_store, first.headers[HEADER])
        second = await send(running, secret)
        done = [*paid]
        third = await send(running, secret)
    assert done == paid == [("A-7", 500)]
    assert HEADER not in second.headers
    assert "groundwire" not in second.json()
    assert third.headers[HEADER] != first.headers[HEADER]
    [approval] = first.json()["groundwire"]["approvals"]
    assert (approval["id"], approval["tool"]) == (first.headers[HEADER], "refund")
    assert approval["text"] == "Refund 500 cents of order A-7"


async def test_of_equal_requests_at_once_one_uses_the_approval_and_the_others_wait_for_another(gateway, shared_store):
    registry, paid = shop()
    async with gateway(*REFUNDS, registry=registry, store=shared_store) as running:
        approval_id = (await send(running)).headers[HEADER]
        await approve(shared_store, approval_id)
        answers = await asyncio.gather(*(send(running) for _ in range(5)))
    waiting = [answer.headers[HEADER] for answer in answers if HEADER in answer.headers]
    assert paid == [("A-7", 500)]
    assert len(waiting) == 4
    assert len(set(waiting) - {approval_id}) == len(set(waiting)) == 1


async def test_until_somebody_decides_the_same_request_waits_for_the_same_approval(gateway, tmp_path):
    store = f"sqlite:///{tmp_path}/store.db"
    registry, paid = shop()
    async with gateway(*REFUNDS, registry=registry, store=store) as running:
        ids = {(await send(running)).headers[HEADER] for _ in range(3)}
    assert (len(ids), paid) == (1, [])


@pytest.mark.parametrize("tenant", ["default", "acme"])
async def test_an_approval_is_of_no_use_to_another_key(gateway, tmp_path, tenant):
    store = f"sqlite:///{tmp_path}/store.db"
    registry, paid = shop()
    own, other = await add_key(store, "key_1"), await add_key(store, "key_2", tenant=tenant)
    session = {"x-groundwire-session-id": "s1"}
    async with gateway(*REFUNDS, registry=registry, store=store) as running:
        for headers in ({}, session, {"x-groundwire-session-id": "key:key_1"}):
            approval_id = (await send(running, own, headers)).headers[HEADER]
            await approve(store, approval_id)
            for more in ({}, session, {"x-groundwire-session-id": "key:key_1"}):
                assert (await send(running, other, more)).headers[HEADER] != approval_id
            assert paid == []
            assert HEADER not in (await send(running, own, headers)).headers
            assert paid.pop() == ("A-7", 500)


async def test_a_session_cannot_be_mistaken_for_a_request_without_one(gateway, tmp_path):
    store = f"sqlite:///{tmp_path}/store.db"
    registry, paid = shop()
    secret = await add_key(store, "key_1")
    async with gateway(*REFUNDS, registry=registry, store=store) as running:
        await approve(store, (await send(running, secret)).headers[HEADER])
        for name in ("key:key_1", "key_1", ":key_1", "key%3Akey_1", "run:key_1"):
            assert HEADER in (await send(running, secret, {"x-groundwire-session-id": name})).headers
    assert paid == []


async def test_other_arguments_and_a_denied_request_do_not_pass(gateway, tmp_path):
    store = f"sqlite:///{tmp_path}/store.db"
    registry, paid = shop()
    async with gateway(*REFUNDS, registry=registry, store=store) as running:
        approval_id = (await send(running)).headers[HEADER]
        async with Runtime(Registry(), store) as runtime:
            await runtime.deny(approval_id, by="ada")
        denied = await send(running)
        assert running.upstream.requests[-1].body["messages"][-1]["content"].count("DENIED") == 1
    assert (HEADER in denied.headers, paid) == (False, [])


async def test_several_approvals_in_one_response_are_all_named(gateway, tmp_path):
    store = f"sqlite:///{tmp_path}/store.db"
    registry, paid = shop()
    asks = (Ask("refund", {"order": "A-7", "cents": 500}), Ask("refund", {"order": "A-8", "cents": 1}))
    async with gateway(Answer(calls=asks), Answer("Asked."), registry=registry, store=store) as running:
        first = await send(running)
        ids = first.headers[HEADER].split(", ")
        await approve(store, ids[1])
        second = await send(running)
    assert [one["id"] for one in first.json()["groundwire"]["approvals"]] == ids
    assert [one["text"] for one in first.json()["groundwire"]["approvals"]] == [
        "Refund 500 cents of order A-7",
        "Refund 1 cents of order A-8",
    ]
    assert (second.headers[HEADER], paid) == (ids[0], [("A-8", 1)])


async def test_an_approval_that_the_same_request_came_to_use_is_not_named(gateway, tmp_path):
    store = f"sqlite:///{tmp_path}/store.db"
    registry, paid = shop()

    @tool(category="utility")
    async def wait_for_it() -> str:
        """Until a person has approved what is pending."""
        async with Runtime(Registry(), store) as runtime:
            [pending] = await runtime.approvals()
            await runtime.approve(pending.confirmation_id, by="ada")
        return "approved"

    call = Ask("refund", {"order": "A-7", "cents": 500})
    script = (Answer(calls=(call,)), Answer(calls=(Ask("wait_for_it", {}),)), Answer(calls=(call,)), Answer("Done."))
    async with gateway(*script, registry=Registry([*registry, wait_for_it]), store=store) as running:
        answer = await send(running)
    assert (HEADER in answer.headers, "groundwire" in answer.json(), paid) == (False, False, [("A-7", 500)])


async def test_an_answer_that_is_given_again_names_its_approval_too(gateway, tmp_path):
    store = f"sqlite:///{tmp_path}/store.db"
    registry, _ = shop()
    async with gateway(*REFUNDS, registry=registry, store=store) as running:
        first = await send(running, headers={"idempotency-key": "k1"})
        again = await send(running, headers={"idempotency-key": "k1"})
    assert again.headers["idempotent-replayed"] == "true"
    assert again.headers[HEADER] == first.headers[HEADER]
    assert again.json()["groundwire"] == first.json()["groundwire"]


async def test_a_stream_of_events_names_the_approval_in_a_comment_when_it_is_requested(gateway, tmp_path):
    store = f"sqlite:///{tmp_path}/store.db"
    registry, _ = shop()
    async with gateway(*REFUNDS, registry=registry, store=store) as running:
        text = (await send(running, stream=True)).text
    comments = [json.loads(line.removeprefix(": groundwire ")) for line in text.splitlines() if line[:2] == ": "]
    [requested] = [comment for comment in comments if comment["event"] == "approval.requested"]
    chunks = [json.loads(line[6:]) for line in text.splitlines() if line.startswith("data: {")]
    [member] = [chunk["groundwire"] for chunk in chunks if "groundwire" in chunk]
    assert requested["approval_id"] == member["approvals"][0]["id"]
    assert (requested["name"], requested["call_id"]) == ("refund", member["approvals"][0]["callId"])


async def chat(running, client, *, stream):
    options = {"model": running.model, **CHAT}
    if not stream:
        raw = await client.chat.completions.with_raw_response.create(**options)
        answer = raw.parse()
        return answer.choices[0].message.content, answer.groundwire, raw.headers
    said, found = "", None
    async for chunk in await client.chat.completions.create(**options, stream=True):
        said += chunk.choices[0].delta.content or ""
        found = (chunk.model_extra or {}).get("groundwire", found)
    return said, found, None


async def responses(running, client, *, stream):
    options = {"model": running.model, "input": "Refund order A-7.", "tools": CHAT["tools"]}
    if not stream:
        raw = await client.responses.with_raw_response.create(**options)
        answer, headers = raw.parse(), raw.headers
    else:
        async for event in await client.responses.create(**options, stream=True):
            if event.type == "response.completed":
                answer, headers = event.response, None
    kept = await client.responses.retrieve(answer.id)
    assert kept.groundwire == answer.groundwire
    return answer.output_text, answer.groundwire, headers


async def messages(running, client, *, stream):
    options = {"model": running.model, "max_tokens": 99, "messages": CHAT["messages"], "tools": CHAT["tools"]}
    if not stream:
        raw = await client.messages.with_raw_response.create(**options)
        answer = await raw.parse()
        return answer.content[0].text, answer.groundwire, raw.headers
    found = None
    async with client.messages.stream(**options) as events:
        async for event in events:
            if event.type == "message_delta":
                found = event.delta.groundwire
        final = await events.get_final_message()
    return final.content[0].text, found, None


@both
@pytest.mark.parametrize("ask", [chat, responses, messages])
async def test_the_sdks_of_openai_and_anthropic_read_what_an_answer_waits_for(gateway, tmp_path, ask, stream):
    registry, _ = shop()
    store = f"sqlite:///{tmp_path}/store.db"
    async with gateway(*REFUNDS, registry=registry, store=store) as running, asyncio.timeout(LIMIT):
        client = (
            anthropic.AsyncAnthropic(base_url=running.anthropic_url, api_key="k", max_retries=0)
            if ask is messages
            else openai.AsyncOpenAI(base_url=running.openai_url, api_key="k", max_retries=0)
        )
        async with client:
            said, found, headers = await ask(running, client, stream=stream)
        async with Runtime(Registry(), store) as runtime:
            [pending] = await runtime.approvals(status=ConfirmationStatus.PENDING)
    assert said == "I asked for it."
    assert [one["id"] for one in found["approvals"]] == [pending.confirmation_id]
    assert headers is None or headers[HEADER] == pending.confirmation_id


@both
async def test_the_sdk_of_google_reads_an_answer_that_waits(gateway, tmp_path, stream):
    registry, _ = shop()
    headers = {"x-groundwire-tools": "*"}
    options = types.HttpOptions(headers=headers, retry_options=types.HttpRetryOptions(attempts=1))
    async with (
        gateway(*REFUNDS, registry=registry, store=f"sqlite:///{tmp_path}/store.db") as running,
        asyncio.timeout(LIMIT),
    ):
        options.base_url = running.gemini_url
        async with genai.Client(api_key="k", http_options=options).aio as client:
            asked = {"model": running.model, "contents": "Refund order A-7."}
            if stream:
                chunks = [chunk async for chunk in await client.models.generate_content_stream(**asked)]
                said = "".join(chunk.text or "" for chunk in chunks)
            else:
                said = (await client.models.generate_content(**asked)).text
    assert said == "I asked for it."


@pytest.mark.parametrize("method", ["generateContent", "streamGenerateContent?alt=sse", "streamGenerateContent"])
async def test_a_response_of_gemini_has_the_approval_in_its_last_piece(gateway, tmp_path, method):
    registry, _ = shop()
    body = {"contents": [{"role": "user", "parts": [{"text": "Refund order A-7."}]}]}
    async with (
        gateway(*REFUNDS, registry=registry, store=f"sqlite:///{tmp_path}/store.db") as running,
        httpx.AsyncClient(base_url=running.url, timeout=LIMIT) as client,
    ):
        path = f"/v1beta/models/{running.model}:{method}"
        answer = await client.post(path, json=body, headers={"x-groundwire-tools": "*"})
        [pending] = (await client.get("/api/approvals")).json()["items"]
    if method == "generateContent":
        pieces = [answer.json()]
        assert answer.headers[HEADER] == pending["confirmationId"]
    elif method.endswith("sse"):
        pieces = [json.loads(line[6:]) for line in answer.text.splitlines() if line]
    else:
        pieces = answer.json()
    assert [place for place, piece in enumerate(pieces) if "groundwire" in piece] == [len(pieces) - 1]
    assert pieces[-1]["groundwire"]["approvals"][0]["id"] == pending["confirmationId"]


async def test_a_plain_call_names_its_approval_in_a_header_and_passes_once_after_it(gateway, tmp_path):
    registry, paid = shop()
    store = f"sqlite:///{tmp_path}/store.db"
    call = {"tool": "refund", "arguments": {"order": "A-7", "cents": 500}}
    async with (
        gateway("Hello.", registry=registry, store=store) as running,
        httpx.AsyncClient(base_url=running.url, timeout=LIMIT) as client,
    ):
        first = await client.post("/api/calls", json=call)
        assert first.headers[HEADER] == first.json()["meta"]["confirmation"]["id"]
        await approve(store, first.headers[HEADER])
        second, third = [await client.post("/api/calls", json=call) for _ in range(2)]
    assert (second.json()["ok"], HEADER in second.headers, paid) == (True, False, [("A-7", 500)])
    assert third.headers[HEADER] != first.headers[HEADER]


async def test_an_approval_has_what_a_person_needs_to_decide_it(gateway, shared_store):
    registry, _ = shop(ground={"order": {"by": "value"}})
    secret = await add_key(shared_store, "key_1", "api", "models", "tools")
    async with gateway(*REFUNDS, registry=registry, store=shared_store) as running:
        first = await send(running, secret)
        [told] = first.json()["groundwire"]["approvals"]
        async with httpx.AsyncClient(base_url=running.url, headers={"authorization": f"Bearer {secret}"}) as client:
            row = (await client.get(f"/api/approvals/{told['id']}")).json()
            run = (await client.get(f"/api/runs/{row['runId']}")).json()
    assert [call["callId"] for call in run["calls"]] == [row["callId"]] == [told["callId"]]
    assert (row["keyId"], row["category"]) == ("key_1", "action")
    assert row["edited"] is False
    assert row["question"] == "Refund 500 cents of order A-7"
    assert row["argumentSchema"]["properties"].keys() == {"order", "cents"}
    [evidence] = row["evidence"]
    assert (evidence["argument"], evidence["grounded"], evidence["start"]) == ("order", True, len("Refund order "))
    assert "binding" not in row


async def test_the_sentence_of_an_approval_with_other_arguments_is_about_these(gateway, shared_store):
    registry, paid = shop()
    async with (
        gateway(*REFUNDS, registry=registry, store=shared_store) as running,
        httpx.AsyncClient(base_url=running.url, timeout=LIMIT) as client,
    ):
        call = {"tool": "refund", "arguments": {"order": "A-7", "cents": 500}}
        path = f"/api/approvals/{(await client.post('/api/calls', json=call)).headers[HEADER]}"
        edited = await client.post(f"{path}/approve", json={"arguments": {"order": "A-7", "cents": 50}})
        shown = (await client.get(path)).json()
        call["arguments"]["cents"] = 50
        await client.post("/api/calls", json=call)
    assert edited.json() == shown
    assert shown["edited"] is True
    assert shown["question"] == "Refund 50 cents of order A-7"
    assert paid == [("A-7", 50)]
