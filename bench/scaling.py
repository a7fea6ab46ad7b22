"""What must not grow: the cost of a call with the number of tools, or with the calls before it; and loading tools."""

import tempfile
import time
from pathlib import Path

from bench.measuring import heading, line
from bench.workload import SCHEMA, Counter, argument_texts
from groundwire import Registry, Runtime, Tool

CALLS = 200
ROUNDS = 30
MANY_TOOLS = 10_000
MANY_CALLS = 20_000


async def main() -> None:
    heading("Cost of a call as things grow (CPU per call, memory store)")
    few, many = _registry(10), _registry(MANY_TOOLS)
    with_few, with_many = await _cost(few), await _cost(many)
    line("10 tools", with_few)
    line(f"{MANY_TOOLS} tools", with_many)
    line("ratio", with_many / with_few, "×", goal="≤ 1.2", met=with_many <= 1.2 * with_few)
    early, late = await _along_a_session(few)
    line("the first calls of a session", early)
    line(f"after {MANY_CALLS} calls of the same session", late)
    line("ratio", late / early, "×", goal="≤ 1.2", met=late <= 1.2 * early)
    _loading(many)


def _registry(count: int) -> Registry:
    counter = Counter()
    tools = [
        Tool(
            name=f"area{index % 50}.tool_{index}",
            description=f"Create a ticket in area {index % 50}, variant {index}.",
            parameters=SCHEMA,
            handler=counter.create_ticket,
            category="retrieval",
        )
        for index in range(count)
    ]
    return Registry(tools)


async def _cost(registry: Registry) -> float:
    runtime = Runtime(registry, "memory://")
    texts = argument_texts(CALLS)
    best = float("inf")
    for number in range(ROUNDS):
        async with runtime.turn(session=f"bench-{number}") as turn:
            started = time.process_time_ns()
            for index, text in enumerate(texts):
                await runtime.call("area7.tool_7", text, turn=turn, call_id=f"call-{number}-{index}")
            best = min(best, (time.process_time_ns() - started) / CALLS / 1000)
    return best


async def _along_a_session(registry: Registry) -> tuple[float, float]:
    with tempfile.TemporaryDirectory(prefix="bench-", dir=".") as folder:
        runtime = Runtime(registry, f"sqlite:///{folder}/session.db")
        texts = argument_texts(CALLS)
        costs: list[float] = []
        for number in range(MANY_CALLS // CALLS):
            async with runtime.turn(session="one") as turn:
                started = time.process_time_ns()
                for index, text in enumerate(texts):
                    await runtime.call("area7.tool_7", text, turn=turn, call_id=f"call-{number}-{index}")
                costs.append((time.process_time_ns() - started) / CALLS / 1000)
        await runtime.close()
    return min(costs[1:11]), min(costs[-10:])


def _loading(registry: Registry) -> None:
    heading("Loading an artifact")
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        path = Path(folder) / "tool_registry.json"
        path.write_bytes(registry.artifact())
        megabytes = path.stat().st_size / 1e6
        best = float("inf")
        for _ in range(3):
            started = time.perf_counter()
            loaded = Registry.load(path)
            best = min(best, time.perf_counter() - started)
        line(f"{len(loaded)} tools, {megabytes:.0f} MB", best * 1000, "ms", goal="well under 1000", met=best < 0.5)
