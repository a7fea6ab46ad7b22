"""Translation between model APIs: against reading and writing the same JSON, and against a peer."""

import json
import os
import subprocess
from collections.abc import Awaitable, Callable
from pathlib import Path

import orjson

from bench.bodies import chat_request, gemini_event, gemini_response
from bench.measuring import cpu_us, heading, line
from groundwire.codecs import gemini, openai_chat
from groundwire.codecs.caching import ToolCache
from groundwire.codecs.wire.json import dump

CALLS = 200
ROUNDS = 25
EVENTS = 30
PEER = Path(__file__).with_name("peer_litellm.py")


async def main() -> None:
    await _requests()
    await _responses()
    await _streams()
    await _history()
    _compare_with_peer(await _us(lambda: _request(_BODY, None)), await _us(_response))


_BODY = json.dumps(chat_request()).encode()
_BODIES = [json.dumps(chat_request(number)).encode() for number in range(64)]
_ANSWER = json.dumps(gemini_response()).encode()
_NAMES = {"find_rooms": "find_rooms"}


def _request(body: bytes, cache: ToolCache | None) -> bytes:
    request = openai_chat.decode_request(body, cache=cache)
    return dump(gemini.encode_request(request, cache=cache, fragments=True).body)


def _response() -> bytes:
    return dump(openai_chat.encode_response(gemini.decode_response(_ANSWER, names=_NAMES)).body)


async def _us(work: Callable[[], object], calls: int = CALLS) -> float:
    async def loop() -> None:
        for _ in range(calls):
            work()

    await loop()
    return await cpu_us(ROUNDS, calls, _awaitable(loop))


def _awaitable(loop: Callable[[], Awaitable[None]]) -> Callable[[], Awaitable[None]]:
    return loop


async def _requests() -> None:
    heading(f"OpenAI Chat to Gemini, request of {len(_BODY)} bytes (CPU, bytes to bytes)")
    floor = await _us(lambda: orjson.dumps(orjson.loads(_BODY)))
    new = await _us(lambda: _request(_BODY, None))
    cache = ToolCache()
    bodies = iter(_BODIES * (CALLS * (ROUNDS + 2)))
    seen = await _us(lambda: _request(next(bodies), cache))
    line("reading and writing the JSON", floor)
    line("translated", new)
    line("translated, tool list seen before", seen)
    line("ratio", new / floor, "×", goal="≤ 4", met=new <= 4 * floor)
    line("ratio, tool list seen before", seen / floor, "×", goal="≤ 2.5", met=seen <= 2.5 * floor)


async def _responses() -> None:
    heading(f"Gemini to OpenAI Chat, response of {len(_ANSWER)} bytes")
    floor = await _us(lambda: orjson.dumps(orjson.loads(_ANSWER)))
    ours = await _us(_response)
    line("reading and writing the JSON", floor)
    line("translated", ours)
    line("ratio", ours / floor, "×", goal="≤ 4", met=ours <= 4 * floor)


async def _streams() -> None:
    heading("Gemini to OpenAI Chat, streamed text (per event)")
    events = [orjson.dumps(gemini_event(f"some words {number} ")) for number in range(EVENTS)]
    frames = [b"data: %b\r\n\r\n" % event for event in events]

    def bare() -> None:
        for event in events:
            orjson.dumps(orjson.loads(event))

    def ours() -> None:
        decoder, encoder = gemini.StreamDecoder(), openai_chat.StreamEncoder()
        for frame in frames:
            for part in decoder.feed(frame):
                encoder.feed(part)

    floor = await _us(bare, CALLS // 10) / EVENTS
    cost = await _us(ours, CALLS // 10) / EVENTS
    line("reading and writing the JSON", floor)
    line("translated", cost)
    line("ratio", cost / floor, "×", goal="≤ 4", met=cost <= 4 * floor)


async def _history() -> None:
    heading("Length of the history (CPU per message)")
    costs = []
    for turns in (1, 10, 100):
        body = json.dumps(chat_request(turns=turns)).encode()
        cost = await _us(lambda body=body: _request(body, None), max(2, CALLS // turns)) / (turns * 8 + 2)
        costs.append(cost)
        line(f"{turns * 8 + 2} messages", cost)
    line("per message, longest to shortest", costs[-1] / costs[0], "×", goal="≤ 1.1", met=costs[-1] <= 1.1 * costs[0])


def _compare_with_peer(request: float, response: float) -> None:
    heading("The same translations by LiteLLM's functions")
    python = Path(os.environ.get("PEERS", ".venv-peers")) / "litellm" / "bin" / "python"
    try:
        done = subprocess.run([python, PEER], capture_output=True, text=True, check=False)
    except OSError as error:
        print(f"  not measured: {error}")
        return
    if done.returncode:
        print(f"  not measured: {done.stderr.strip().splitlines()[-1] if done.stderr.strip() else 'it does not run'}")
        return
    peer = json.loads(done.stdout.splitlines()[-1])
    line("LiteLLM, request", peer["request"])
    line("LiteLLM, response", peer["response"])
    line("ours is faster, request", peer["request"] / request, "×", goal="≥ 15", met=peer["request"] >= 15 * request)
    line(
        "ours is faster, response", peer["response"] / response, "×", goal="≥ 15", met=peer["response"] >= 15 * response
    )
