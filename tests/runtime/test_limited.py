import asyncio
import contextvars
import threading

import pytest

from groundwire.runtime.limited import GeneratorExitRaised, Interrupted, TimeLimitReached, run_limited
from groundwire.runtime.threads import MAX_IDLE, DaemonThreads


class Call:
    cancel_requested = False
    cut_off = False


async def later(value):
    await asyncio.sleep(0)
    return value


async def at_once(value):
    return value


async def never():
    await asyncio.Event().wait()


async def fail():
    await asyncio.sleep(0)
    raise KeyError("mine")


@pytest.mark.parametrize("make", [at_once, later])
async def test_a_coroutine_that_ends_in_time_gives_its_value(make):
    assert await run_limited(make(7), 5, Call()) == 7


async def test_its_exception_is_passed_on():
    with pytest.raises(KeyError):
        await run_limited(fail(), 5, Call())


async def raise_generator_exit(*, late):
    if late:
        await asyncio.sleep(0)
    raise GeneratorExit


@pytest.mark.parametrize("late", [False, True])
async def test_a_generator_exit_of_its_own_is_told_from_being_closed(late):
    with pytest.raises(GeneratorExitRaised):
        await run_limited(raise_generator_exit(late=late), 5, Call())


async def resist():
    try:
        await never()
    except GeneratorExit:
        await never()


@pytest.mark.parametrize("make", [never, resist])
async def test_a_call_that_is_closed_is_closed_whatever_its_coroutine_does(make):
    call = run_limited(make(), 5, Call())
    call.send(None)
    call.close()
    with pytest.raises(StopIteration):
        call.send(None)


async def test_time_that_is_up_leaves_no_trace_on_the_task():
    call = Call()
    with pytest.raises(TimeLimitReached):
        await run_limited(never(), 0.001, call)
    assert call.cut_off is True
    assert asyncio.current_task().cancelling() == 0
    await asyncio.sleep(0)


async def test_a_call_that_was_cancelled_itself_is_interrupted():
    call = Call()

    async def both():
        await run_limited(never(), 5, call)

    task = asyncio.ensure_future(both())
    await asyncio.sleep(0)
    call.cancel_requested = True
    task.cancel()
    with pytest.raises(Interrupted):
        await task


async def test_a_cancelled_task_is_cancelled():
    call = Call()
    task = asyncio.ensure_future(run_in_task(call))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert call.cut_off is False


async def run_in_task(call):
    return await run_limited(never(), 5, call)


async def test_nothing_is_left_running_after_the_time_was_up():
    ended = []

    async def tidy():
        try:
            await never()
        finally:
            ended.append(True)

    with pytest.raises(TimeLimitReached):
        await run_limited(tidy(), 0.001, Call())
    assert ended == [True]
    assert [task for task in asyncio.all_tasks() if task is not asyncio.current_task()] == []


async def test_a_thread_gives_its_value_or_its_exception():
    threads = DaemonThreads()
    assert await threads.run(lambda: 7) == 7
    with pytest.raises(ZeroDivisionError):
        await threads.run(lambda: 1 / 0)


async def test_a_thread_knows_the_callers_context():
    name = contextvars.ContextVar("name")
    name.set("ada")
    assert await DaemonThreads().run(name.get) == "ada"


async def test_threads_are_daemons_and_are_used_again():
    threads = DaemonThreads()
    first = await threads.run(threading.current_thread)
    second = await threads.run(threading.current_thread)
    assert first is second
    assert first.daemon


async def test_there_are_as_many_threads_as_calls_at_once_and_few_stay():
    threads, gate = DaemonThreads(), threading.Event()
    barrier = threading.Barrier(MAX_IDLE + 8, timeout=10)

    def meet():
        barrier.wait()
        gate.wait(10)
        return threading.current_thread()

    futures = [threads.run(meet) for _ in range(MAX_IDLE + 8)]
    gate.set()
    workers = await asyncio.gather(*futures)
    assert len(set(workers)) == MAX_IDLE + 8
    assert await threads.run(lambda: 1) == 1


async def test_no_thread_stays_when_they_are_closed():
    threads, gate = DaemonThreads(), threading.Event()
    at_work = threads.run(lambda: gate.wait(10) and threading.current_thread())
    idle = await threads.run(threading.current_thread)
    threads.close()
    gate.set()
    ended = [idle, await at_work]
    for thread in ended:
        await asyncio.to_thread(thread.join, 10)
    assert [thread.is_alive() for thread in ended] == [False] * 2
    assert await threads.run(lambda: 1) == 1


async def test_a_result_that_comes_after_its_call_was_cancelled_harms_nobody():
    threads, gate, done = DaemonThreads(), threading.Event(), threading.Event()

    def slow():
        gate.wait(10)
        done.set()

    future = threads.run(slow)
    future.cancel()
    gate.set()
    await asyncio.to_thread(done.wait, 10)
    assert await threads.run(lambda: 1) == 1


def test_a_loop_that_is_closed_meanwhile_harms_nobody():
    threads, gate, done = DaemonThreads(), threading.Event(), threading.Event()

    def slow():
        gate.wait(10)
        done.set()

    async def start():
        threads.run(slow)

    asyncio.run(start())
    gate.set()
    assert done.wait(10)
