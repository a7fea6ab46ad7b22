"""Every way to say which tools a model may use, from every dialect to every provider's own words for it."""

import httpx2
import pytest

from groundwire.testing import Answer, Ask, Rule
from tests.gateway.conversation import upstreams

SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
NAMES = ("get_weather", "get_time")
FUNCTIONS = [{"name": name, "description": "Tells it.", "parameters": SCHEMA} for name in NAMES]
SAID = [{"role": "user", "content": "Tokyo?"}]
NAMED = {"type": "function", "name": "get_time"}
ALLOWED = {"type": "allowed_tools", "mode": "required", "tools": [NAMED]}
REQUESTS = {
    "openai-chat": (
        "/v1/chat/completions",
        {"messages": SAID, "tools": [{"type": "function", "function": function} for function in FUNCTIONS]},
        "tool_choice",
        {
            "auto": "auto",
            "none": "none",
            "required": "required",
            "named": {"type": "function", "function": {"name": "get_time"}},
            "allowed": {
                "type": "allowed_tools",
                "allowed_tools": {
                    "mode": "required",
                    "tools": [{"type": "function", "function": {"name": "get_time"}}],
                },
            },
        },
    ),
    "openai-responses": (
        "/v1/responses",
        {"input": "Tokyo?", "tools": [{"type": "function", **function} for function in FUNCTIONS]},
        "tool_choice",
        {"auto": "auto", "none": "none", "required": "required", "named": NAMED, "allowed": ALLOWED},
    ),
    "anthropic": (
        "/v1/messages",
        {
            "messages": SAID,
            "max_tokens": 100,
            "tools": [{"name": name, "description": "Tells it.", "input_schema": SCHEMA} for name in NAMES],
        },
        "tool_choice",
        {
            "auto": {"type": "auto"},
            "none": {"type": "none"},
            "required": {"type": "any"},
            "named": {"type": "tool", "name": "get_time"},
        },
    ),
    "gemini": (
        "/v1beta/models/{model}:generateContent",
        {"contents": [{"role": "user", "parts": [{"text": "Tokyo?"}]}], "tools": [{"functionDeclarations": FUNCTIONS}]},
        "toolConfig",
        {
            "auto": {"functionCallingConfig": {"mode": "AUTO"}},
            "none": {"functionCallingConfig": {"mode": "NONE"}},
            "required": {"functionCallingConfig": {"mode": "ANY"}},
            "named": {"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["get_time"]}},
        },
    ),
}


def meant(body, upstream):
    """What a provider reads: a mode, and the names of the tools that may be called."""
    if upstream == "gemini":
        config = body.get("toolConfig", {}).get("functionCallingConfig", {})
        named = config.get("allowedFunctionNames", NAMES)
        return {"ANY": "required", "NONE": "none"}.get(config.get("mode"), "auto"), tuple(named)
    choice = body.get("tool_choice", "auto")
    if isinstance(choice, str):
        return choice, NAMES
    if upstream == "anthropic":
        name = choice.get("name")
        return {"any": "required", "tool": "required"}.get(choice["type"], choice["type"]), (name,) if name else NAMES
    allowed = choice.get("allowed_tools", choice)
    listed = allowed.get("tools", [choice])
    return allowed.get("mode", "required"), tuple(entry.get("function", entry)["name"] for entry in listed)


@upstreams
@pytest.mark.parametrize("client", REQUESTS)
@pytest.mark.requirement("E-016")
async def test_every_choice_of_tools_reaches_every_provider_in_its_own_words(gateway, client, upstream):
    path, request, member, choices = REQUESTS[client]
    expected = {
        "auto": ("auto", NAMES),
        "none": ("none", NAMES),
        "required": ("required", NAMES),
        "named": ("required", ("get_time",)),
        "allowed": ("required", ("get_time",)),
    }
    time = Answer(calls=(Ask("get_time", {"city": "Tokyo"}),))
    async with gateway(rules=(Rule("", time),), upstream=upstream) as running, httpx2.AsyncClient(timeout=30) as http:
        url = running.url + path.format(model=running.model)
        found = {}
        for mode, choice in choices.items():
            answer = await http.post(url, json={**request, "model": running.model, member: choice})
            assert answer.status_code == 200, answer.text
            found[mode] = meant(running.upstream.requests[-1].body, upstream)
    assert found == {mode: expected[mode] for mode in choices}
