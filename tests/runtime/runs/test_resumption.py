"""Runs that become due are resumed by whichever process has their tools: once, and each effect at most once."""

import asyncio
import logging

import pytest
from msgspec.structs import replace

from groundwire import Agent, Outcome, Runtime, Settings, tool
from groundwire.contracts.errors import AlreadyDecided, NotFound, RunInProgress
from groundwire.contracts.runs import Run, RunStatus
from groundwire.registry import Registry
from groundwire.runtime.ledger import LedgerTimes
from groundwire.runtime.runs.actions import RunActions
from groundwire.runtime.runs.resumption import MAX_RESUMES, RUN_JOBS
from groundwire.testing import Answer, Ask, FakeClock, ScriptedModel, ScriptedProvider

BOOK = Answer(calls=(Ask("book", {"place": "Nonna"}),))
WAIT = Answer(calls=(Ask("wait", {"text": "a"}),))
QUICK = Settings(ledger=LedgerTimes(lease_seconds=20, wait_seconds=0.05))


class Stage:
    """One store that several agents share, each as if in a process of its own."""

    def __init__(self, url: str, clock: FakeClock | None = None) -> None:
        self.url = url
        self.clock = clock
        self.booked: list[str] = []
        self.entered = asyncio.Event()
        self.let_go = asyncio.Event()
        self.agents: list[Agent] = []
        self.stuck: list[asyncio.Task[object]] = []

    def registry(self, let_go: asyncio.Event) -> Registry:
        @tool(category="action", confirm=True)
        async def book(place: str) -> dict[str, str]:
            """Book a table."""
            self.booked.append(place)
            return {"booked": place}

        @tool(category="retrieval")
        async def wait(text: str) -> dict[str, str]:
            """Wait."""
            self.entered.set()
            await let_go.wait()
            return {"waited": text}

        return Registry([book, wait])

    def agent(self, *answers, registry: Registry | None = None, let_go: asyncio.Event | None = None) -> Agent:
        registry = registry or self.registry(let_go or self.let_go)
        runtime = Runtime(registry, self.url, settings=QUICK, clock=self.clock)
        models = ScriptedProvider(ScriptedModel(*answers), clock=runtime.clock)
        agent = Agent("sim/any", runtime=runtime, models=models)
        self.agents.append(agent)
        return agent

    async def interrupt(self) -> Run:
        """Leave the run "r" as a process does that is killed in a tool. Its task stays stuck there to the end."""
        agent = self.agent(WAIT, "Done.", let_go=asyncio.Event())
        self.stuck.append(asyncio.create_task(agent.run("Wait.", run_id="r")))
        await self.entered.wait()
        self.entered.clear()
        head = await agent.runtime.store.load_run("default", "r")
        dead = replace(head, owner="dead", due_at=1.0)
        assert await agent.runtime.store.swap_lease(head, dead)
        return dead

    async def close(self) -> None:
        for task in self.stuck:
            task.cancel()
        await asyncio.gather(*self.stuck, return_exceptions=True)
        for agent in self.agents:
            await agent.close()
            await agent.runtime.close()


@pytest.fixture
async def stage(tmp_path):
    stage = Stage(f"sqlite:///{tmp_path}/store.db")
    yield stage
    await stage.close()


async def executed(server, run_id):
    """The run after the jobs that this process finds or makes for it have ended."""
    await server._resumer.sweep()
    for job in await server.runtime.jobs.list(kind=RUN_JOBS):
        await server.runtime.jobs.wait(job.job_id)
    return await server.runtime.store.load_run("default", run_id)


async def status(agent, run_id):
    run = await agent.runtime.store.load_run("default", run_id)
    return run.status(agent.runtime.clock.now())


async def test_an_approval_resumes_the_run_in_another_process(stage):
    asking, server = stage.agent(BOOK), stage.agent(BOOK, "It is booked.")
    await server.work()
    paused = await asking.run("A table.")
    assert await status(asking, paused.run_id) is RunStatus.WAITING
    await asking.runtime.approve(paused.approvals[0], by="ann")
    run = await executed(server, paused.run_id)
    assert (run.outcome, run.text, stage.booked) == ("completed", "It is booked.", ["Nonna"])
    (job,) = await server.runtime.jobs.list(kind=RUN_JOBS)
    assert (await server.runtime.jobs.wait(job.job_id)).result == {"runId": paused.run_id, "outcome": "completed"}


async def test_a_denial_resumes_the_run_and_nothing_is_done(stage):
    asking, server = stage.agent(BOOK), stage.agent(BOOK, "Then not.")
    await server.work()
    paused = await asking.run("A table.")
    await asking.runtime.deny(paused.approvals[0], by="ann")
    run = await executed(server, paused.run_id)
    assert (run.outcome, run.text, stage.booked) == ("completed", "Then not.", [])


async def test_of_two_processes_that_see_a_due_run_one_executes_it(stage):
    asking = stage.agent(BOOK)
    servers = [stage.agent(BOOK, "It is booked.") for _ in range(2)]
    paused = await asking.run("A table.")
    await asking.runtime.approve(paused.approvals[0], by="ann")
    for server in servers:
        await server.work(when_needed=True)
    await asyncio.gather(*(server._resumer.sweep() for server in servers))
    for server in servers:
        run = await executed(server, paused.run_id)
        assert (run.outcome, stage.booked) == ("completed", ["Nonna"])


async def test_a_process_without_the_tools_of_a_run_leaves_it_alone(stage):
    @tool(category="utility")
    async def other() -> None:
        """Something else."""

    asking, stranger = stage.agent(BOOK), stage.agent(BOOK, "Hm.", registry=Registry([other]))
    paused = await asking.run("A table.")
    await asking.runtime.approve(paused.approvals[0], by="ann")
    await stranger.work()
    assert await stranger._resumer.sweep() == 0
    assert await status(asking, paused.run_id) is RunStatus.WAITING
    assert (await asking.resume(paused.run_id)).outcome is not Outcome.AWAITING_APPROVAL


async def test_who_resumes_a_run_that_another_process_executes_waits_and_gets_its_result(stage):
    stage.let_go.clear()
    asking = stage.agent(WAIT, "Done.")
    second = stage.agent()
    second._leases._wait_seconds = 30
    running = asyncio.create_task(asking.run("Wait.", run_id="r"))
    await stage.entered.wait()
    resuming = asyncio.create_task(second.resume("r"))
    stage.let_go.set()
    assert (await running).text == (await resuming).text == "Done."


async def test_a_run_that_stays_with_another_process_is_refused_by_name(stage):
    asking, second = stage.agent(WAIT, "Done."), stage.agent()
    running = asyncio.create_task(asking.run("Wait.", run_id="r"))
    await stage.entered.wait()
    assert await status(asking, "r") is RunStatus.RUNNING
    with pytest.raises(RunInProgress):
        await second.resume("r")
    stage.let_go.set()
    assert (await running).outcome is Outcome.COMPLETED


async def test_a_run_whose_process_died_is_interrupted_and_is_resumed(stage):
    await stage.interrupt()
    server = stage.agent(WAIT, "Done.")
    await server.runtime.open()
    assert await status(server, "r") is RunStatus.INTERRUPTED
    stage.let_go.set()
    await server.work()
    assert (await executed(server, "r")).text == "Done."


async def test_a_run_that_gets_no_further_is_left_for_a_person(stage, caplog):
    run = await stage.interrupt()
    server = stage.agent(WAIT, "Done.")
    await server.runtime.open()
    store = server.runtime.store
    assert await store.swap_lease(run, replace(run, resumes=MAX_RESUMES, due_at=2.0))
    with caplog.at_level(logging.ERROR, "groundwire"):
        await server.work()
    assert "Run r was resumed 5 times" in caplog.text
    assert (await store.load_run("default", "r")).due_at == 0
    assert await status(server, "r") is RunStatus.INTERRUPTED
    stage.let_go.set()
    await RunActions(server.runtime).request_resume("r", by="ann")
    assert (await executed(server, "r")).text == "Done."


async def test_a_running_run_is_cancelled_from_another_process_and_its_caller_gets_that_outcome(stage):
    asking = stage.agent(WAIT, "Done.")
    await asking.work(when_needed=True)
    running = asyncio.create_task(asking.run("Wait.", run_id="r"))
    await stage.entered.wait()
    other = stage.agent()
    asked = await RunActions(other.runtime).cancel("r", by="ann", note="too slow")
    assert asked.cancel_requested
    result = await running
    assert (result.outcome, result.events[-1].event) == (Outcome.CANCELLED, "run.ended")
    entries = [record.entry for record in await other.runtime.store.list_audit("default") if record.entry.kind == "run"]
    assert [(entry.decision, entry.actor, entry.run_id) for entry in entries] == [("cancel requested", "ann", "r")]


async def test_a_streamed_run_that_is_cancelled_on_request_ends_with_its_last_event(stage):
    asking = stage.agent(WAIT, "Done.")
    await asking.work(when_needed=True)

    async def follow():
        return [event async for event in asking.stream("Wait.", run_id="r")]

    running = asyncio.create_task(follow())
    await stage.entered.wait()
    await RunActions(asking.runtime).cancel("r", by="ann")
    asking.notify()
    events = await running
    assert (events[-1].event, events[-1].outcome) == ("run.ended", "cancelled")


async def test_a_caller_that_is_cancelled_itself_is_still_told_so(stage):
    asking = stage.agent(WAIT, "Done.")
    running = asyncio.create_task(asking.run("Wait.", run_id="r"))
    await stage.entered.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert (await asking.runtime.store.load_run("default", "r")).outcome == "cancelled"


async def test_a_waiting_run_is_cancelled_at_once_and_a_later_approval_does_nothing(stage):
    asking = stage.agent(BOOK, "It is booked.")
    paused = await asking.run("A table.")
    actions = RunActions(asking.runtime)
    assert (await actions.cancel(paused.run_id, by="ann")).outcome == "cancelled"
    await asking.runtime.approve(paused.approvals[0], by="ann")
    await asking.work()
    assert await asking._resumer.sweep() == 0
    assert stage.booked == []
    with pytest.raises(AlreadyDecided):
        await actions.cancel(paused.run_id, by="ann")


async def test_an_interrupted_run_that_should_be_cancelled_is_not_resumed(stage):
    run = await stage.interrupt()
    server = stage.agent(WAIT, "Done.")
    await server.runtime.open()
    assert await server.runtime.store.swap_lease(run, replace(run, cancel_requested=True))
    await server.work()
    assert (await executed(server, "r")).outcome == "cancelled"


async def test_a_run_is_resumed_by_hand_only_when_that_can_move_it(stage):
    asking = stage.agent(BOOK, "It is booked.")
    actions = RunActions(asking.runtime)
    with pytest.raises(NotFound):
        await actions.request_resume("nowhere", by="ann")
    paused = await asking.run("A table.")
    with pytest.raises(RunInProgress):
        await actions.request_resume(paused.run_id, by="ann")
    await asking.runtime.approve(paused.approvals[0], by="ann")
    assert (await actions.request_resume(paused.run_id, by="ann")).due_at > 0
    done = await asking.resume(paused.run_id)
    assert done.outcome is Outcome.COMPLETED
    with pytest.raises(AlreadyDecided):
        await actions.request_resume(paused.run_id, by="ann")


async def test_a_worker_that_stops_leaves_its_run_to_another(stage):
    await stage.interrupt()
    first, second = stage.agent(WAIT, "Done."), stage.agent(WAIT, "Done.")
    first.runtime.jobs._settings = replace(first.runtime.jobs._settings, grace_seconds=0)
    await first.work()
    await stage.entered.wait()
    await first.close()
    await first.runtime.close()
    await second.runtime.open()
    assert await status(second, "r") is RunStatus.INTERRUPTED
    stage.let_go.set()
    await second.work()
    assert (await executed(second, "r")).outcome == "completed"


async def test_an_approval_that_expires_resumes_the_run():
    stage = Stage("memory://", FakeClock())
    agent = stage.agent(BOOK, "Nobody agreed in time.")
    try:
        paused = await agent.run("A table.")
        await agent.work()
        stage.clock.advance(QUICK.ledger.confirmation_seconds - 1)
        assert await agent._resumer.sweep() == 0
        stage.clock.advance(1)
        run = await executed(agent, paused.run_id)
        assert (run.outcome, run.text, stage.booked) == ("completed", "Nobody agreed in time.", [])
    finally:
        await stage.close()
