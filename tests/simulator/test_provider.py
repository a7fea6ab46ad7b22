"""Our own HTTP provider against the simulator's rules: whatever one model said, the next one can be sent."""

import asyncio
import itertools

import pytest

from groundwire.contracts.errors import ProviderError
from groundwire.contracts.failures import FailureKind
from groundwire.contracts.messages import ResultItem, TextPart, say
from groundwire.contracts.requests import DIALECTS, FunctionTool, ModelRequest
from groundwire.providers.endpoints import Endpoint
from groundwire.providers.http import HttpProvider
from groundwire.providers.retries import RetryPolicy
from groundwire.providers.sockets import SocketTransport
from groundwire.runtime.clock import SystemClock
from groundwire.testing import Answer, Ask, Fault, FaultKind, ModelFaults, simulator

LIMIT = 60
SCHEMA = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "days": {"type": ["integer", "null"], "default": 1}, "unit": {"enum": [1, 2]}},
    "required": ["city"],
    "additionalProperties": False,
}  # fmt: skip
TOOLS = (
    FunctionTool(name="weather.get", description="The weather.", parameters=SCHEMA),
    FunctionTool(name="nothing", parameters={"type": "object", "properties": {}}),
    FunctionTool(name="bare"),
)
SCRIPT = (
    Answer(
        "Wait.",
        reasoning="Two cities.",
        calls=(Ask("weather.get", {"city": "Tokyo"}), Ask("weather.get", {"city": "Oslo"})),
    ),
    Answer(reasoning="One more.", calls=(Ask("nothing"),)),
    Answer("Sunny."),
    Answer("Good-bye."),
)
MODELS = {
    "openai-chat": "gpt-5.2",
    "openai-responses": "gpt-5.2",
    "anthropic": "claude-opus-4-6",
    "gemini": "gemini-3-flash",
}


def provider_for(running, dialect, transport, **options):
    url = running.openai_url if dialect.startswith("openai") else running.url
    name = "openai" if dialect == "openai-chat" else dialect
    endpoint = Endpoint(name=name, dialect=dialect, base_url=url, **options)
    return HttpProvider(endpoint, transport, clock=SystemClock())


async def ask(provider, request, *, stream):
    if not stream:
        return await provider.complete(request)
    parts = [part async for part in provider.stream(request)]
    return parts[-1].reply


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("pair", list(itertools.product(DIALECTS, repeat=2)), ids=" then ".join)
async def test_a_conversation_goes_on_with_another_provider(pair, stream):
    transport = SocketTransport()
    items = [say("user", "How is the weather?")]
    said = []
    async with asyncio.timeout(LIMIT), simulator(*SCRIPT) as running:
        for dialect in (*pair, *pair):
            request = ModelRequest(model=MODELS[dialect], items=tuple(items), tools=TOOLS, max_output_tokens=500)
            reply = await ask(provider_for(running, dialect, transport), request, stream=stream)
            said.append((reply.text, [item.call.name for item in reply.calls]))
            items += reply.items
            items += [
                ResultItem(call_id=c.call.call_id, name=c.call.name, parts=(TextPart(text="sunny"),))
                for c in reply.calls
            ]
            if not reply.calls:
                items.append(say("user", "And?"))
        await transport.close()
    assert said == [("Wait.", ["weather.get"] * 2), ("", ["nothing"]), ("Sunny.", []), ("Good-bye.", [])]


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize(
    ("fault", "kinds"),
    [
        (Fault(kind=FaultKind.CUT, at_byte=40), {FailureKind.BAD_RESPONSE}),
        (Fault(kind=FaultKind.WRONG_CONTENT_TYPE), {FailureKind.BAD_RESPONSE}),
        (Fault(kind=FaultKind.STATUS, status=429), {FailureKind.RATE_LIMIT}),
        (Fault(kind=FaultKind.STATUS, status=503), {FailureKind.OVERLOADED, FailureKind.SERVER}),
    ],
)
async def test_a_fault_is_told_once_and_survived_with_a_second_try(dialect, fault, kinds):
    transport = SocketTransport()
    request = ModelRequest(model=MODELS[dialect], items=(say("user", "hi"),), max_output_tokens=500)
    faults = ModelFaults(at={0: fault, 1: fault})
    async with asyncio.timeout(LIMIT), simulator("Hello.", faults=faults) as running:
        once = provider_for(running, dialect, transport, retry=RetryPolicy(attempts=1))
        with pytest.raises(ProviderError) as told:
            await once.complete(request)
        again = provider_for(running, dialect, transport, retry=RetryPolicy(attempts=2, first=0.0))
        reply = await again.complete(request)
        await transport.close()
    assert told.value.failure.kind in kinds
    assert (reply.text, len(running.requests)) == ("Hello.", 3)
