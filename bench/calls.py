"""A retrieval call: the whole pipeline against the bare parse, validate and call."""

import asyncio
import hashlib
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable

import jsonschema_rs
import msgspec

from bench.measuring import cpu_us, heading, line
from bench.workload import SCHEMA, Counter, argument_texts
from groundwire import Registry, Runtime, Tool
from groundwire.contracts.canonical import canonical_json

CALLS = 200
ROUNDS = 60


async def main() -> None:
    counter = Counter()
    texts = argument_texts(CALLS)
    heading("A retrieval call (CPU per call, memory store)")
    bare = await cpu_us(ROUNDS, CALLS, _bare(counter, texts))
    limited = await cpu_us(ROUNDS, CALLS, _bare_limited(counter, texts))
    ours, flushed = await _ours(counter, texts)
    line("bare: parse JSON, validate, call", bare)
    line("bare under asyncio.timeout, with two hashes", limited)
    line("groundwire: dispatched, audit record enqueued", ours)
    line("groundwire: the same, with the records made durable", flushed)
    line("ratio to bare", ours / bare, "×", goal="≤ 10", met=ours <= 10 * bare)
    line("ratio to bare with limit and hashes", ours / limited, "×", goal="≤ 3", met=ours <= 3 * limited)
    await _steps(counter, texts)


def _bare(counter: Counter, texts: list[str]) -> Callable[[], Awaitable[None]]:
    decode, validator = msgspec.json.Decoder().decode, jsonschema_rs.validator_for(SCHEMA)

    async def work() -> None:
        for text in texts:
            arguments = decode(text)
            validator.validate(arguments)
            await counter.create_ticket(**arguments)

    return work


def _bare_limited(counter: Counter, texts: list[str]) -> Callable[[], Awaitable[None]]:
    decode, validator = msgspec.json.Decoder().decode, jsonschema_rs.validator_for(SCHEMA)

    async def work() -> None:
        for text in texts:
            arguments = decode(text)
            validator.validate(arguments)
            hashlib.sha256(canonical_json(arguments)).hexdigest()
            async with asyncio.timeout(15):
                result = await counter.create_ticket(**arguments)
            hashlib.sha256(canonical_json(result)).hexdigest()

    return work


def _runtime(counter: Counter, **options: object) -> Runtime:
    tool = Tool(
        name="create_ticket",
        description="Create a ticket.",
        parameters=SCHEMA,
        handler=counter.create_ticket,
        category="retrieval",
    )
    return Runtime(Registry([tool]), "memory://", **options)  # type: ignore[arg-type]


async def _ours(counter: Counter, texts: list[str]) -> tuple[float, float]:
    runtime = _runtime(counter)
    best = best_flushed = float("inf")
    for number in range(ROUNDS):
        ids = [f"call-{number}-{index}" for index in range(CALLS)]
        before, started = counter.calls, time.process_time_ns()
        async with runtime.turn(session="bench") as turn:
            inside = time.process_time_ns()
            for call_id, text in zip(ids, texts, strict=True):
                await runtime.call("create_ticket", text, turn=turn, call_id=call_id)
            best = min(best, (time.process_time_ns() - inside) / CALLS / 1000)
        best_flushed = min(best_flushed, (time.process_time_ns() - started) / CALLS / 1000)
        if counter.calls - before != CALLS:
            raise SystemExit(f"the tool ran {counter.calls - before} times, not {CALLS}")
    return best, best_flushed


async def _steps(counter: Counter, texts: list[str]) -> None:
    """The time from each step to the next. The clock's own cost is in every line."""
    spent: dict[str, int] = defaultdict(int)
    last = ["", 0]

    def note(step: str, _: object) -> None:
        now = time.perf_counter_ns()
        if last[0]:
            spent[str(last[0])] += now - int(last[1])
        last[:] = [step, time.perf_counter_ns()]

    runtime = _runtime(counter, on_step=note)
    for number in range(ROUNDS):
        async with runtime.turn(session="bench") as turn:
            for index, text in enumerate(texts):
                await runtime.call("create_ticket", text, turn=turn, call_id=f"call-{number}-{index}")
            last[0] = ""
    heading("Where it goes (wall, from each step to the next, clock included)")
    for step, total in spent.items():
        line(step, total / ROUNDS / CALLS / 1000)
