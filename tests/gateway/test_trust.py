"""Tools of the server for models that are trusted with them, and for those that are not."""

from pathlib import Path

import httpx2
import openai
import pytest

from groundwire import Registry, TrustError, TrustSettings, tool
from groundwire.testing import Answer, Ask
from tests.evals.trusted import KEY, KEY_ENV, card, write_trust

MODEL = "openai/gpt-5.2"
OURS = {"type": "groundwire", "name": "*"}
WIPES = (Answer(calls=(Ask("wipe", {"page": 7}, offered=False),)), Answer("I tried."))


def pages():
    wiped = []

    @tool(category="action")
    async def wipe(page: int) -> dict:
        """Delete a page."""
        wiped.append(page)
        return {"wiped": page}

    @tool(category="retrieval")
    async def read(page: int) -> dict:
        """Read a page."""
        return {"text": "Hello."}

    return Registry([wipe, read]), wiped


@pytest.fixture
def trusting(tmp_path, monkeypatch):
    monkeypatch.setenv(KEY_ENV, KEY)

    def settings(trust):
        cards = [card(MODEL, "wipe", trust), card(MODEL, "read", "reliable")]
        return TrustSettings(file=write_trust(tmp_path / "trust.json", *cards))

    return settings


async def ask(running, *, session="", **more):
    async with openai.AsyncOpenAI(base_url=running.openai_url, api_key="k", max_retries=0) as client:
        raw = await client.chat.completions.with_raw_response.create(
            model=running.model,
            messages=[{"role": "user", "content": "Wipe page 7."}],
            tools=[OURS],
            extra_headers={"x-groundwire-session-id": session} if session else {},
            **more,
        )
        return raw.parse().choices[0].message.content, raw.headers.get("x-groundwire-warnings", "")


def offered(running):
    return [one["function"]["name"] for one in running.upstream.requests[-1].body.get("tools", ())]


@pytest.mark.parametrize(
    ("trust", "wiped", "names", "warning"),
    [
        ("reliable", [7], ["read", "wipe"], ""),
        ("ask", [], ["read", "wipe"], "trust_ask tools.wipe"),
        ("read-only", [], ["read"], "trust_hidden tools.wipe"),
        ("deny", [], ["read"], "trust_hidden tools.wipe"),
    ],
)
async def test_the_gateway_lets_a_model_do_what_it_is_trusted_with(gateway, trusting, trust, wiped, names, warning):
    registry, done = pages()
    async with gateway(*WIPES, registry=registry, trust=trusting(trust)) as running:
        said, warnings = await ask(running)
        assert (said, done, offered(running)) == ("I tried.", wiped, names)
    assert [one for one in warnings.split(", ") if one.startswith("trust_")] == ([warning] if warning else [])


async def test_a_person_is_asked_for_the_gateway_s_call_and_the_next_request_may_make_it(gateway, trusting, tmp_path):
    registry, done = pages()
    store = f"sqlite:///{tmp_path}/store.db"
    async with gateway(*WIPES, registry=registry, trust=trusting("ask"), store=store) as running:
        await ask(running, session="s1")
        async with httpx2.AsyncClient(base_url=running.url) as client:
            [question] = (await client.get("/api/approvals")).json()["items"]
            answer = await client.post(f"/api/approvals/{question['confirmationId']}/approve")
            assert answer.status_code == 200
        assert done == []
        await ask(running, session="s1")
        assert done == [7]


@pytest.mark.requirement("C-194")
async def test_a_model_that_is_not_reliable_cannot_be_made_to_call(gateway, trusting):
    registry, done = pages()
    async with gateway(*WIPES, registry=registry, trust=trusting("ask")) as running:
        with pytest.raises(openai.BadRequestError) as caught:
            await ask(running, tool_choice="required")
    assert (caught.value.code, done, running.upstream.requests) == ("not_reliable", [], [])
    assert "openai/gpt-5.2 is not reliable enough for it" in caught.value.message


async def test_a_gateway_does_not_start_with_a_trust_file_that_was_changed(gateway, trusting):
    wanted = trusting("deny")
    _change(Path(wanted.file))
    with pytest.raises(TrustError):
        async with gateway(*WIPES, trust=wanted):
            pass


def _change(file):
    file.write_bytes(file.read_bytes().replace(b'"deny"', b'"ask"'))
