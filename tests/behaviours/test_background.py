"""Background tools: the call gives a job's handle at once, and the job is the second half of the call."""

import asyncio

import msgspec
import pytest

from groundwire import Agent, ErrorType, Overrides, PolicyRule, Registry, Runtime, Settings, ToolError, tool
from groundwire.contracts.events import JobEnded
from groundwire.contracts.jobs import JobSettings
from groundwire.contracts.messages import CallItem, Message, ResultItem, say
from groundwire.contracts.records import EffectStatus
from groundwire.jobs import JobStatus, open_jobs
from groundwire.testing import Answer, Ask, FakeClock, ScriptedModel, ScriptedProvider, assert_failed, assert_ok

SETTINGS = Settings(jobs=JobSettings(poll_seconds=0.02))


def background_of(tools, store="memory://", **options):
    return Runtime(Registry(tools), store, settings=options.pop("settings", SETTINGS), **options)


def recognise(**options):
    """A tool that waits until it is told to go on."""
    seen = []

    @tool(background=True, **{"category": "retrieval"} | options)
    async def scan(page: int) -> dict:
        """Read a page."""
        seen.append(page)
        return {"text": f"page {page}"}

    return scan, seen


async def audit_of(runtime):
    return [record.entry async for record in runtime.store.audit_records()]


@pytest.mark.requirement("OQ-20", "B-220")
async def test_a_background_call_gives_a_handle_at_once_and_its_result_later():
    scan, seen = recognise()
    async with background_of([scan]) as runtime:
        result = await runtime.call("scan", {"page": 7})
        handle = assert_ok(result)
        assert handle == {"job": {"id": result.meta.job, "status": "waiting"}}
        assert seen == []
        await runtime.work()
        late = await runtime.job_result(handle["job"]["id"])
        assert assert_ok(late) == {"text": "page 7"}
        assert (late.meta.job, late.meta.parent_call_id) == (result.meta.job, result.meta.call_id)
        assert seen == [7]


@pytest.mark.parametrize(("arguments", "expected"), [({"page": "x"}, ErrorType.VALIDATION), ({}, ErrorType.VALIDATION)])
async def test_a_call_that_is_refused_makes_no_job(arguments, expected):
    scan, _ = recognise()
    async with background_of([scan]) as runtime:
        assert_failed(await runtime.call("scan", arguments), expected)
        assert await runtime.jobs.list() == []


async def test_a_background_call_that_needs_agreement_makes_its_job_when_that_is_given():
    scan, seen = recognise(category="action", confirm=True)
    async with background_of([scan]) as runtime:
        asked = await runtime.call("scan", {"page": 1}, session="s")
        assert_failed(asked, ErrorType.CONFIRMATION_REQUIRED)
        assert await runtime.jobs.list() == []
        await runtime.approve(asked.meta.confirmation.id, by="ann")
        handle = assert_ok(await runtime.call("scan", {"page": 1}, session="s"))
        await runtime.work()
        assert_ok(await runtime.job_result(handle["job"]["id"]))
        deferred = [entry for entry in await audit_of(runtime) if entry.decision == "deferred"]
        assert [entry.approver for entry in deferred] == ["ann"]
        assert seen == [1]


async def test_a_call_of_a_budget_is_counted_once_and_refused_when_that_is_spent():
    budget = [{"name": "pages", "by": "session", "max": 1}]
    scan, _ = recognise(budget=budget)
    async with background_of([scan]) as runtime:
        handle = assert_ok(await runtime.call("scan", {"page": 1}, session="s"))
        await runtime.work()
        assert_ok(await runtime.job_result(handle["job"]["id"]))
        assert_failed(await runtime.call("scan", {"page": 2}, session="s"), ErrorType.BUDGET_EXCEEDED)
        assert len(await runtime.jobs.list()) == 1


async def test_arguments_that_no_job_can_keep_are_refused_and_nothing_is_left_reserved():
    @tool(category="action", background=True)
    def read(text: str) -> dict:
        """Read a text."""
        return {"length": len(text)}

    roomy = PolicyRule(limits=Overrides(max_args_bytes=20_000_000))
    settings = msgspec.structs.replace(SETTINGS, policies=(roomy,))
    async with background_of([read], settings=settings) as runtime:
        refused = await runtime.call("read", {"text": "x" * 9_000_000}, idempotency_key="k")
        assert_failed(refused, ErrorType.ARGUMENTS_TOO_LARGE)
        assert await runtime.jobs.list() == []
        handle = assert_ok(await runtime.call("read", {"text": "x" * 8_000_000}, idempotency_key="k"))
        await runtime.work()
        assert assert_ok(await runtime.job_result(handle["job"]["id"])) == {"length": 8_000_000}


async def test_the_same_key_gives_the_same_job_and_then_its_result():
    scan, seen = recognise(category="action")
    async with background_of([scan]) as runtime:
        first = assert_ok(await runtime.call("scan", {"page": 1}, idempotency_key="k"))
        again = await runtime.call("scan", {"page": 1}, idempotency_key="k")
        assert (assert_ok(again), again.meta.replayed) == (first, True)
        await runtime.work()
        await runtime.job_result(first["job"]["id"])
        last = await runtime.call("scan", {"page": 1}, idempotency_key="k")
        assert (assert_ok(last), last.meta.replayed) == ({"text": "page 1"}, True)
        assert seen == [1]


async def test_both_halves_are_in_the_audit_chain_and_the_ledger():
    scan, _ = recognise(category="action")
    async with background_of([scan]) as runtime:
        result = await runtime.call("scan", {"page": 1}, actor="ann", session="s")
        await runtime.work()
        await runtime.job_result(result.meta.job)
        await runtime.store.flush()
        first, second = await audit_of(runtime)
        assert (first.decision, first.call_id, first.actor) == ("deferred", result.meta.call_id, "ann")
        assert (second.decision, second.parent_call_id, second.actor) == ("executed", result.meta.call_id, "ann")
        assert first.input_hash == second.input_hash
        assert {effect.status for effect in await runtime.effects()} == {EffectStatus.SETTLED}
        assert (await runtime.verify_audit()).ok


async def test_a_handler_sees_who_called_and_under_which_key():
    seen = []

    @tool(category="action", background=True)
    async def look(context) -> None:
        """Look."""
        seen.append((context.session_id, context.tenant, context.user, context.actor, context.idempotency_key))
        seen.append(dict(context.state))

    async with background_of([look]) as runtime:
        options = {"session": "s", "tenant": "acme", "user": "ann", "actor": "bot"}
        handle = assert_ok(await runtime.call("look", {}, idempotency_key="k", **options))
        await runtime.work()
        assert_ok(await runtime.job_result(handle["job"]["id"], tenant="acme"))
        assert seen == [("s", "acme", "ann", "bot", "k"), {}]


async def test_a_failure_that_may_pass_is_tried_again_on_the_schedule_and_others_are_dead_letters():
    clock, faults = FakeClock(), [ErrorType.TRANSIENT, ErrorType.PERMANENT]

    @tool(category="action", background=True)
    async def pay() -> None:
        """Pay."""
        raise ToolError(faults.pop(0), "no")

    async with background_of([pay], clock=clock) as runtime:
        await runtime.work()
        handle = assert_ok(await runtime.call("pay"))
        await runtime.jobs.idle()
        job = await runtime.jobs.find(handle["job"]["id"])
        assert (job.status, job.attempt) == (JobStatus.WAITING, 1)
        clock.advance(2)
        await runtime.jobs.idle()
        assert_failed(await runtime.job_result(job.job_id), ErrorType.PERMANENT)
        assert (await runtime.jobs.find(job.job_id)).status == JobStatus.FAILED


async def test_what_crashed_in_the_middle_of_an_action_is_unknown_until_a_person_decides():
    runs = []

    @tool(category="action", background=True)
    async def pay() -> None:
        """Pay."""
        runs.append(1)
        raise ValueError("the line went dead")

    async with background_of([pay]) as runtime:
        await runtime.work()
        handle = assert_ok(await runtime.call("pay"))
        job_id = handle["job"]["id"]
        assert_failed(await runtime.job_result(job_id), ErrorType.INTERNAL)
        await runtime.jobs.retry(job_id)
        assert_failed(await runtime.job_result(job_id), ErrorType.OUTCOME_UNKNOWN)
        [unknown] = await runtime.effects(status=EffectStatus.UNKNOWN)
        await runtime.reconcile(unknown.effect_id, happened=True, by="ann", data={"paid": 5})
        await runtime.jobs.retry(job_id)
        assert assert_ok(await runtime.job_result(job_id)) == {"paid": 5}
        assert (await runtime.jobs.find(job_id)).status == JobStatus.DONE
        assert runs == [1]


async def test_a_cancelled_job_interrupts_its_tool():
    began = asyncio.Event()

    @tool(background=True)
    async def wait() -> None:
        """Wait."""
        began.set()
        await asyncio.Event().wait()

    async with background_of([wait]) as runtime:
        await runtime.work()
        handle = assert_ok(await runtime.call("wait"))
        await began.wait()
        await runtime.jobs.cancel(handle["job"]["id"])
        assert_failed(await runtime.job_result(handle["job"]["id"]), ErrorType.CANCELLED)
        await runtime.jobs.idle()


async def test_progress_is_kept_with_the_job():
    may_end = asyncio.Event()

    @tool(background=True)
    async def scan(context) -> str:
        """Scan."""
        for percent in range(0, 100, 10):
            context.progress({"percent": percent})
        await may_end.wait()
        return "done"

    async with background_of([scan]) as runtime:
        await runtime.work()
        handle = assert_ok(await runtime.call("scan"))
        while (await runtime.jobs.find(handle["job"]["id"])).progress != {"percent": 90}:
            pass
        may_end.set()
        assert assert_ok(await runtime.job_result(handle["job"]["id"])) == "done"


async def test_a_background_tool_may_take_longer_than_any_other():
    @tool(background=True)
    async def scan() -> None:
        """Scan."""

    async with background_of([scan]) as runtime:
        entry = (await runtime.surface(mode="voice")).find("scan")
        assert (entry.limits.hard_ms, entry.limits.soft_ms) == (3_600_000, None)


async def test_without_jobs_a_background_tool_is_waited_for():
    scan, _ = recognise()
    async with background_of([scan]) as outer:
        from groundwire.assembly import scratch_runtime

        async with scratch_runtime(outer, outer.registry) as runtime:
            assert assert_ok(await runtime.call("scan", {"page": 3})) == {"text": "page 3"}


@pytest.mark.requirement("OQ-20")
async def test_the_result_enters_the_conversation_at_the_next_turn_as_data_of_its_call():
    scan, _ = recognise()
    model = ScriptedModel(
        Answer(calls=(Ask("scan", {"page": 7}),)), "It is being read.", "Page 7 says: page 7.", "Nothing new."
    )
    async with (
        background_of([scan]) as runtime,
        Agent("sim", runtime=runtime, models=ScriptedProvider(model, clock=runtime.clock)) as agent,
    ):
        first = await agent.run("Read page 7", session="s")
        [call] = first.calls
        await runtime.work()
        await runtime.job_result(call.result.meta.job)
        second = await agent.run("And?", session="s")
        told = [item for item in second.items if not isinstance(item, Message)]
        assert [type(item) for item in told] == [CallItem, ResultItem]
        assert (told[0].call.name, told[0].call.raw) == ("scan", call.call.raw)
        assert told[1].text == (
            f'{{"job":{{"id":"{call.result.meta.job}","status":"done","callId":"{call.call.call_id}"}},'
            '"ok":true,"data":{"text":"page 7"}}'
        )
        [ended] = [event for event in second.events if isinstance(event, JobEnded)]
        assert (ended.job_id, ended.call_id, ended.name) == (call.result.meta.job, call.call.call_id, "scan")
        third = await agent.run("And now?", session="s")
        assert not any(isinstance(event, JobEnded) for event in third.events)
        assert [type(item) for item in third.items] == [Message, Message]


class SlowToTake:
    """Jobs that are slow to take a new one in."""

    def __init__(self, jobs):
        self._jobs = jobs
        self.asked, self.may_take = asyncio.Event(), asyncio.Event()

    async def submit(self, *arguments, **options):
        self.asked.set()
        await self.may_take.wait()
        return await self._jobs.submit(*arguments, **options)

    def __getattr__(self, name):
        return getattr(self._jobs, name)


async def test_a_call_that_is_cancelled_while_its_job_is_made_has_that_job():
    scan, _ = recognise(category="action")
    slow = SlowToTake(open_jobs("memory://"))
    async with background_of([scan], jobs=slow) as runtime:
        calling = asyncio.create_task(runtime.call("scan", {"page": 1}, idempotency_key="k"))
        await slow.asked.wait()
        calling.cancel()
        slow.may_take.set()
        with pytest.raises(asyncio.CancelledError):
            await calling
        [job] = await runtime.jobs.list()
        again = await runtime.call("scan", {"page": 1}, idempotency_key="k")
        assert (again.meta.job, again.meta.replayed) == (job.job_id, True)


async def test_what_came_of_a_call_is_told_to_whoever_watches():
    from groundwire import RunStarted

    scan, _ = recognise()
    model = ScriptedModel(Answer(calls=(Ask("scan", {"page": 7}),)), "It is being read.", "Here it is.")
    async with background_of([scan]) as runtime:
        agent = Agent("sim", runtime=runtime, models=ScriptedProvider(model, clock=runtime.clock))
        first = await agent.run("Read page 7", session="s")
        await runtime.work()
        await runtime.job_result(first.calls[0].result.meta.job)
        kinds = [type(event) async for event in agent.stream("And?", session="s")]
        assert kinds[:2] == [RunStarted, JobEnded]


async def test_who_brings_a_history_of_their_own_is_told_of_what_came_in_the_session():
    scan, _ = recognise()
    model = ScriptedModel(Answer(calls=(Ask("scan", {"page": 7}),)), "It is being read.", "Here it is.", "Nothing new.")
    async with background_of([scan]) as runtime:
        agent = Agent("sim", runtime=runtime, models=ScriptedProvider(model, clock=runtime.clock))
        first = await agent.run("Read page 7", session="s")
        await runtime.work()
        await runtime.job_result(first.calls[0].result.meta.job)
        own = [say("user", "Read page 7"), say("assistant", "It is being read."), say("user", "And?")]
        second = await agent.run(history=own, session="s")
        third = await agent.run(history=[*own, say("assistant", "Here it is."), say("user", "Else?")], session="s")
        assert [event.job_id for event in second.events if isinstance(event, JobEnded)] == [
            first.calls[0].result.meta.job
        ]
        assert [event for event in third.events if isinstance(event, JobEnded)] == []
