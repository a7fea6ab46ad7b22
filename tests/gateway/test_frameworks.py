"""Agent frameworks through the gateway to every upstream dialect: two turns, two calls at once, private data intact.

`make setup` installs pydantic-ai and LangChain; `make clients` also what does not go together with the newest SDKs.
"""

import asyncio

import pytest

from tests.gateway import frameworks
from tests.gateway.conversation import CITIES, SCRIPT, assert_private_data_came_back, both, upstreams

LIMIT = 60
DIALECTS = ("openai-chat", "openai-responses", "anthropic", "gemini")


async def assert_converses(gateway, framework, dialect, upstream, *, stream):
    async with gateway(*SCRIPT, upstream=upstream) as running, asyncio.timeout(LIMIT):
        heard = await framework(running, dialect, stream=stream)
    assert sorted(heard.cities) == sorted(CITIES)
    assert heard.texts == ["Sunny everywhere.", "You are welcome."]
    assert len(running.upstream.requests) == 3
    assert_private_data_came_back(running.upstream.requests[1].body, upstream)


@both
@upstreams
@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.requirement("E-017", "X-21")
async def test_pydantic_ai_completes_a_tool_conversation_at_every_upstream(gateway, dialect, upstream, stream):
    await assert_converses(gateway, frameworks.pydantic_ai, dialect, upstream, stream=stream)


@both
@upstreams
@pytest.mark.parametrize("dialect", DIALECTS)
async def test_langchain_completes_a_tool_conversation_at_every_upstream(gateway, dialect, upstream, stream):
    if dialect == "gemini":
        pytest.importorskip("langchain_google_genai", reason="make clients installs it")
    await assert_converses(gateway, frameworks.langchain, dialect, upstream, stream=stream)


@both
@upstreams
@pytest.mark.parametrize("dialect", ["openai-chat", "openai-responses"])
async def test_openai_agents_complete_a_tool_conversation_at_every_upstream(gateway, dialect, upstream, stream):
    pytest.importorskip("agents", reason="make clients installs it")
    await assert_converses(gateway, frameworks.openai_agents, dialect, upstream, stream=stream)
