"""Keys at the relay and on repeated requests: sessions and answers belong to who made them."""

import httpx2
import pytest

from groundwire.contracts.keys import KeyLimit
from tests.gateway.relayed import PLACEHOLDER, SCRIPT, TOOLS
from tests.gateway.test_access import key_for

CONTENTS = {"contents": [{"role": "user", "parts": [{"text": "How is the weather?"}]}]}


@pytest.fixture
def store(tmp_path):
    return f"sqlite:///{tmp_path}/groundwire.db"


def owner_of(running, secret):
    return httpx2.AsyncClient(base_url=f"{running.url}/relay/desk", headers={"x-goog-api-key": secret}, timeout=30)


@pytest.mark.parametrize(("method", "path"), [("GET", "calls"), ("PUT", "tools"), ("POST", "results")])
async def test_without_a_key_nobody_sees_or_changes_a_session(gateway, store, method, path):
    await key_for(store)
    async with gateway(*SCRIPT, upstream="gemini", store=store) as running, owner_of(running, "") as nobody:
        refused = await nobody.request(method, f"/{path}", json={})
    assert (refused.status_code, refused.json()["error"]["code"]) == (401, 401)


@pytest.mark.requirement("X-20")
async def test_sessions_of_one_name_belong_to_different_tenants(gateway, store):
    (_, ours), (_, theirs) = [await key_for(store, tenant=name) for name in ("acme", "umbrella")]
    async with (
        gateway(*SCRIPT, upstream="gemini", store=store) as running,
        owner_of(running, ours) as us,
        owner_of(running, theirs) as them,
    ):
        await us.put("/tools", json={"tools": TOOLS})
        said = await us.post(f"/v1beta/models/{running.model}:generateContent", json=CONTENTS)
        waiting = [(await owner.get("/calls")).json()["calls"] for owner in (us, them)]
        offered = (await them.get("/tools")).json()["tools"]
    assert said.json()["candidates"][0]["content"]["parts"] == [{"text": PLACEHOLDER}]
    assert [len(calls) for calls in waiting] == [1, 0]
    assert offered is None


async def test_a_relayed_client_has_the_models_and_limits_of_its_key(gateway, store):
    _, narrow = await key_for(store, models=("other/*",))
    _, limited = await key_for(store, limits=(KeyLimit("tokens", 1, "day"),))
    path = "/v1beta/models/gemini/gemini-3-flash:generateContent"
    async with gateway(*SCRIPT, upstream="gemini", store=store) as running:
        async with owner_of(running, narrow) as client:
            refused = await client.post(path, json=CONTENTS)
        async with owner_of(running, limited) as client:
            await client.put("/tools", json={"tools": TOOLS})
            statuses = [(await client.post(path, json=CONTENTS)).status_code for _ in range(2)]
        assert len(running.upstream.requests) == 1
    assert refused.status_code == 403
    assert statuses == [200, 429]


async def test_an_answer_is_repeated_to_the_key_that_got_it_and_to_no_other(gateway, store):
    (_, one), (_, two) = [await key_for(store) for _ in range(2)]
    async with gateway("Hello.", store=store) as running:
        headers = {"idempotency-key": "k1"}
        answers = []
        for secret in (one, one, two, ""):
            async with httpx2.AsyncClient(base_url=running.url, headers={**headers, "x-api-key": secret}) as client:
                body = {"model": running.model, "messages": [{"role": "user", "content": "hi"}]}
                answers.append(await client.post("/v1/chat/completions", json=body))
        assert len(running.upstream.requests) == 2
    assert [answer.status_code for answer in answers] == [200, 200, 200, 401]
    assert [answer.headers.get("idempotent-replayed") for answer in answers] == [None, "true", None, None]
