"""How messages are taken: each once, in the order in which they were written, under names that can be kept."""

import pytest

from groundwire import ConfigError, NameTaken
from groundwire.apps.supplier.contracts import Goal, SourcingRequest, Status
from groundwire.apps.supplier.host import conversations as changes
from groundwire.apps.supplier.negotiator import negotiate
from groundwire.testing import Fault, FaultKind, ModelFaults, ScriptedModel, ScriptedProvider
from tests.apps.supplier.stage import NOON, REQUEST, bot, supplier

SESSION = REQUEST.session_id
ELEVEN, TWELVE = "2026-03-11T11:00:00+08:00", "2026-03-11T12:00:00+08:00"


def failing_once(clock):
    faults = ModelFaults(at={0: Fault(kind=FaultKind.STATUS, status=503)})
    return ScriptedProvider(ScriptedModel(otherwise=negotiate, faults=faults), clock=clock)


async def test_a_message_that_was_written_before_one_that_still_waits_is_answered_before_it(stage, clock):
    async with stage.open(failing_once(clock)) as host:
        await host.begin(REQUEST)
        await host.receive(SESSION, supplier("单价6.5", message_id="later", timestamp=TWELVE))
        await stage.jobs.idle()
        await host.receive(SESSION, supplier("200个起", message_id="earlier", timestamp=ELEVEN))
        await stage.jobs.idle()
        await stage.pass_time(1)
        known = await host.find(SESSION)
    assert [entry.message_id for entry in known.history if entry.role == "supplier"] == ["earlier", "later"]
    assert [entry.role for entry in known.history] == ["bot", "supplier", "bot", "supplier", "bot"]
    assert [entry.args["goalId"] for entry in known.bot_tool_trace] == ["moq", "unit_price"]


async def test_steps_of_two_conversations_are_two_whatever_sessions_and_messages_are_called(stage):
    """Joined with colons, `a:1` at 3 with `m` was `a` at 1 with `3:m`, and the latter was never answered."""
    async with stage.open() as host:
        for session in ("a:1", "a"):
            await host.begin(SourcingRequest(session_id=session, item="杯子", qty=10))
        for session, message in (("a:1", "first"), ("a:1", "m"), ("a", "3:m"), ("a", "last")):
            await host.receive(session, supplier("200个起", message_id=message))
            await host.wait_for(session, message, seconds=60)
        known = await host.find("a")
    assert known.inbox == ()
    assert [entry.message_id for entry in known.history if entry.role == "supplier"] == ["3:m", "last"]


def test_messages_without_a_time_wait_in_the_order_of_their_arrival():
    known = changes.opened(REQUEST, (), bot("在吗"), NOON)
    for name, timestamp in (("a", TWELVE), ("b", ""), ("c", ELEVEN), ("d", "soon"), ("e", TWELVE)):
        known = changes.arrived(known, supplier(name, message_id=name, timestamp=timestamp))
    assert [entry.message_id for entry in known.inbox] == ["c", "a", "b", "d", "e"]


async def test_a_supplier_may_use_an_id_that_looks_like_ours(stage):
    async with stage.open() as host:
        begun = await host.begin(REQUEST)
        ours = begun.history[0].message_id
        await host.receive(SESSION, supplier("200个起", message_id=ours))
        await stage.jobs.idle()
        known = await host.find(SESSION)
    assert [entry.role for entry in known.history] == ["bot", "supplier", "bot"]


@pytest.mark.parametrize("name", ["", "a\x00", "a\nb", "x" * 257])
async def test_names_that_nobody_could_ask_for_again_are_refused_and_nothing_is_kept(stage, name):
    async with stage.open() as host:
        with pytest.raises(ConfigError):
            await host.begin(SourcingRequest(session_id=name, item="杯子", qty=1))
        await host.begin(REQUEST)
        with pytest.raises(ConfigError):
            await host.receive(SESSION, supplier("在的", message_id=name))
        assert len(await host.list()) == 1
        assert (await host.find(SESSION)).inbox == ()


async def test_the_longest_name_is_as_good_as_any(stage):
    name = "x" * 256
    async with stage.open() as host:
        await host.begin(SourcingRequest(session_id=name, item="杯子", qty=1))
        await host.receive(name, supplier("200个起", message_id=name))
        await stage.jobs.idle()
        known = await host.find(name)
    assert [entry.role for entry in known.history] == ["bot", "supplier", "bot"]


async def test_another_request_or_other_goals_cannot_take_a_name(stage):
    async with stage.open() as host:
        await host.begin(REQUEST)
        with pytest.raises(NameTaken):
            await host.begin(SourcingRequest(session_id=SESSION, item="杯子", qty=1))
        with pytest.raises(NameTaken):
            await host.begin(REQUEST, [Goal(goal_id="moq")])


@pytest.mark.requirement("A-143", "OQ-10")
async def test_after_an_error_the_next_message_is_answered_with_everything_that_was_said(stage, clock):
    faults = ModelFaults(at={number: Fault(kind=FaultKind.STATUS, status=503) for number in range(7)})
    models = ScriptedProvider(ScriptedModel(otherwise=negotiate, faults=faults), clock=clock)
    async with stage.open(models) as host:
        await host.begin(REQUEST)
        await host.receive(SESSION, supplier("200个起", message_id="m1"))
        for _ in range(7):
            await stage.pass_time(1)
        assert (await host.find(SESSION)).status is Status.ERROR
        await host.receive(SESSION, supplier("单价6.5", message_id="m2"))
        await stage.jobs.idle()
        known = await host.find(SESSION)
    assert (known.status, known.failure) == (Status.CONTINUE, "")
    assert [entry.role for entry in known.history] == ["bot", "supplier", "supplier", "bot"]
