"""One runtime, several threads with loops of their own: every effect once, and nothing breaks."""

import asyncio
import threading

import pytest

from groundwire import Registry, Runtime, Tool, ToolError


@pytest.mark.parametrize("store", ["memory://", "sqlite:///{}/x.db", "sqlite:///{}/x.db?durability=power"])
def test_loops_in_several_threads_share_one_store(tmp_path, store):
    done = []

    async def act(number: int) -> int:
        done.append(number)
        return number

    schema = {"type": "object", "properties": {"number": {"type": "integer"}}, "required": ["number"]}
    tool = Tool("act", description="Act.", parameters=schema, handler=act, category="action")
    runtime = Runtime(Registry([tool]), store.format(tmp_path))
    runtime.run_sync(runtime.open())
    failures = []

    async def work(first: int) -> None:
        for number in range(first, first + 40):
            await asyncio.gather(
                *(runtime.call("act", {"number": number}, session="s", idempotency_key=f"k{number}") for _ in range(3))
            )

    def thread(first: int) -> None:
        try:
            asyncio.run(work(first))
        except BaseException as error:  # noqa: BLE001 - whatever it is, the test must hear of it
            failures.append(error)

    threads = [threading.Thread(target=thread, args=(first,)) for first in (0, 20, 100)]
    for each in threads:
        each.start()
    for number in range(200, 240):
        assert runtime.call_sync("act", {"number": number}).ok
    for each in threads:
        each.join()
    assert failures == []
    assert sorted(done) == [*range(60), *range(100, 140), *range(200, 240)]
    report = runtime.run_sync(runtime.verify_audit())
    assert (report.ok, report.records) == (True, 3 * 3 * 40 + 40)
    runtime.run_sync(runtime.close())


async def test_a_handler_in_a_thread_cannot_commit_after_its_time_is_up(tmp_path):
    effects = []
    may_go_on = threading.Event()
    ended = threading.Event()

    def slow(context) -> str:
        may_go_on.wait(10)
        try:
            context.commit_now()
            effects.append("acted")
        except ToolError:
            effects.append("refused")
        ended.set()
        return "done"

    tool = Tool("slow", description="Act.", handler=slow, category="action", commits=True, hard_ms=30)
    runtime = Runtime(Registry([tool]))
    result = await runtime.call("slow", idempotency_key="k")
    assert result.error.type == "TIMEOUT"
    assert result.error.partial_side_effects is False
    may_go_on.set()
    await asyncio.to_thread(ended.wait, 10)
    assert effects == ["refused"]
