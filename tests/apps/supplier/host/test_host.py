"""Conversations that live between messages: answered in order, ended, told, and taken up again when it is time."""

import pytest

from groundwire import ConfigError, NotFound
from groundwire.apps.supplier.contracts import SignalType, SourcingRequest, Status, as_json
from groundwire.apps.supplier.negotiator import negotiate
from groundwire.apps.supplier.signals.receivers import read_signal_log
from groundwire.testing import Fault, FaultKind, ModelFaults, ScriptedModel, ScriptedProvider
from tests.apps.supplier.stage import REQUEST, supplier

SESSION = REQUEST.session_id


async def say(stage, text, message_id):
    known = await stage.host.receive(SESSION, supplier(text, message_id=message_id))
    await stage.jobs.idle()
    return known


async def now(stage):
    return await stage.host.find(SESSION)


@pytest.mark.requirement("A-139", "A-140", "OQ-11")
async def test_a_message_is_answered_captured_kept_and_the_reply_sent_once(stage):
    async with stage.open() as host:
        await host.begin(REQUEST)
        await say(stage, "印logo的话最少200个起", "m1")
        known = await now(stage)
    assert [entry.role for entry in known.history] == ["bot", "supplier", "bot"]
    assert [(entry.name, entry.turn, entry.args["value"]) for entry in known.bot_tool_trace] == [("log_data", 2, "200")]
    assert [message_id for message_id, _ in stage.sent] == [f"{SESSION}.bot.1", f"{SESSION}.bot.3"]
    assert all(one.is_sent for one in known.outbox)


async def test_a_message_that_comes_twice_is_one_message(stage):
    async with stage.open() as host:
        await host.begin(REQUEST)
        await say(stage, "200个起", "m1")
        await say(stage, "200个起", "m1")
        known = await now(stage)
    assert [entry.message_id for entry in known.history if entry.role == "supplier"] == ["m1"]


async def test_messages_that_come_together_are_answered_in_their_order(stage):
    async with stage.open() as host:
        await host.begin(REQUEST)
        for number in range(4):
            await host.receive(SESSION, supplier(f"第{number}句，颜色都有", message_id=f"m{number}"))
        await stage.jobs.idle()
        known = await now(stage)
    said = [entry.message_id for entry in known.history if entry.role == "supplier"]
    assert said == ["m0", "m1", "m2", "m3"]
    assert len(known.history) == 9


async def test_a_conversation_is_begun_once_and_not_for_another_request(stage):
    async with stage.open() as host:
        first = await host.begin(REQUEST)
        assert await host.begin(REQUEST) == first
        with pytest.raises(ConfigError, match="another conversation"):
            await host.begin(SourcingRequest(session_id=SESSION, item="杯子", qty=1))


async def test_a_message_for_nobody_is_an_error(stage):
    async with stage.open() as host:
        with pytest.raises(NotFound):
            await host.receive("nobody", supplier("在的", message_id="m1"))


@pytest.mark.requirement("A-141", "A-153", "A-154", "A-155", "A-145", "OQ-03", "OQ-09", "OQ-12")
async def test_silence_ends_it_and_we_come_back_three_times_at_most(stage):
    async with stage.open() as host:
        await host.begin(REQUEST)
        await stage.jobs.idle()
        ends = []
        for _ in range(12):
            await stage.pass_time(24)
            ends.append((await now(stage)).follow_ups)
        known = await now(stage)
    assert max(ends) == 3
    assert known.status is Status.NO_REPLY
    assert len([entry for entry in known.history if entry.role == "bot"]) == 4
    assert [summary.status for summary in known.summaries] == [Status.NO_REPLY] * 4
    assert known.follow_up is None


@pytest.mark.requirement("A-009", "A-154", "X-17")
async def test_a_signal_about_silence_carries_no_quote_and_says_why(stage, tmp_path):
    log = tmp_path / "signals.jsonl"
    async with stage.open(signal_log=str(log)) as host:
        await host.begin(REQUEST)
        await stage.jobs.idle()
        await stage.pass_time(24)
        known = await now(stage)
    (logged,) = read_signal_log(log)
    assert logged.signal.signal_type is SignalType.SCHEDULE_FOLLOW_UP
    assert (logged.signal.supplier_quote, logged.signal.evidence) == (None, {"kind": "silence"})
    assert known.summaries[0].brain_receipt.accepted == (logged.signal.signal_id,)


@pytest.mark.requirement("A-145", "OQ-12")
async def test_a_person_who_answers_cancels_the_follow_up(stage):
    async with stage.open() as host:
        await host.begin(REQUEST)
        await stage.jobs.idle()
        await stage.pass_time(24)
        assert (await now(stage)).follow_up is not None
        await say(stage, "不好意思才看到，200个起", "m1")
        assert (await now(stage)).follow_up is None
        before = len((await now(stage)).history)
        await stage.pass_time(20)
        assert len((await now(stage)).history) == before


class Interrupting(ScriptedProvider):
    """A model during whose answer something else happens, once."""

    meanwhile = None

    async def complete(self, request, *options):
        meanwhile, self.meanwhile = self.meanwhile, None
        if meanwhile is not None:
            await meanwhile()
        return await super().complete(request, *options)


class Replaceable(ScriptedProvider):
    """A model that another may stand in for."""

    instead = None

    async def complete(self, request, *options):
        if self.instead is not None:
            return await self.instead.complete(request, *options)
        return await super().complete(request, *options)


@pytest.mark.requirement("A-145", "OQ-12")
async def test_a_person_who_answers_while_we_are_about_to_come_back_is_answered_instead(stage, clock):
    models = Interrupting(ScriptedModel(otherwise=negotiate), clock=clock)
    async with stage.open(models) as host:
        await host.begin(REQUEST)
        await stage.jobs.idle()
        await stage.pass_time(24)
        assert (await now(stage)).follow_up is not None
        models.meanwhile = lambda: host.receive(SESSION, supplier("不好意思才看到，200个起", message_id="m1"))
        await stage.pass_time(24)
        known = await now(stage)
        (job,) = await stage.jobs.list(kind="supplier.follow_up")
    assert models.meanwhile is None
    assert [entry.role for entry in known.history][:3] == ["bot", "supplier", "bot"]
    assert known.follow_ups == 0
    assert (job.status, job.result) == ("done", {"fired": False})


@pytest.mark.requirement("A-145", "OQ-12")
async def test_a_follow_up_whose_model_stays_away_is_a_dead_letter_and_fires_when_it_is_retried(stage, clock):
    faults = ModelFaults(at={number: Fault(kind=FaultKind.STATUS, status=503) for number in range(100)})
    models = Replaceable(ScriptedModel(otherwise=negotiate), clock=clock)
    async with stage.open(models) as host:
        await host.begin(REQUEST)
        await stage.jobs.idle()
        await stage.pass_time(24)
        models.instead = ScriptedProvider(ScriptedModel(faults=faults), clock=clock)
        for _ in range(8):
            await stage.pass_time(24)
        (dead,) = await stage.jobs.list(kind="supplier.follow_up")
        assert (dead.status, dead.error) == ("failed", "the model could not be reached")
        models.instead = None
        await stage.jobs.retry(dead.job_id)
        await stage.jobs.idle()
        known = await now(stage)
        again = await stage.jobs.find(dead.job_id)
    assert (again.result, known.follow_ups) == ({"fired": True}, 1)


@pytest.mark.requirement("A-009")
async def test_a_canned_reply_neither_resets_the_silence_nor_gets_an_answer(stage):
    async with stage.open() as host:
        await host.begin(REQUEST)
        await stage.jobs.idle()
        await stage.pass_time(12)
        await say(stage, "【自动回复】亲，客服正在赶来", "m1")
        assert len(stage.sent) == 1
        await stage.pass_time(12)
        assert (await now(stage)).status is Status.NO_REPLY


@pytest.mark.requirement("A-002", "A-005", "A-006", "A-007", "A-010", "A-012", "A-013", "A-016", "A-049", "A-136")
async def test_a_refusal_ends_it_and_operations_are_told_with_the_words(stage, tmp_path):
    async with stage.open(signal_log=str(tmp_path / "signals.jsonl")) as host:
        await host.begin(REQUEST)
        await say(stage, "200个起", "m0")
        assert (await now(stage)).summaries == ()
        await say(stage, "不好意思，这款停产了，您问问别家吧", "m1")
        known = await now(stage)
    outcome = as_json(known)
    assert (outcome["status"], len(outcome["history"]), len(outcome["botToolTrace"])) == ("rejected", 5, 2)
    assert [*outcome["summaries"][0]["brainReceipt"]["accepted"]] == [outcome["summaries"][0]["signals"][0]["signalId"]]
    assert known.status is Status.REJECTED
    (signal,) = known.summaries[-1].signals
    assert (signal.signal_type, signal.severity) == (SignalType.HUMAN_ESCALATION, "high")
    assert signal.supplier_quote in "不好意思，这款停产了，您问问别家吧"


@pytest.mark.requirement("A-141")
async def test_an_operator_may_call_it_over_and_it_is_summarised_once(stage):
    async with stage.open() as host:
        await host.begin(REQUEST)
        await say(stage, "200个起", "m1")
        await host.end(SESSION)
        await host.end(SESSION)
        await stage.jobs.idle()
        known = await now(stage)
    assert known.status is Status.COMPLETED
    assert len(known.summaries) == 1


@pytest.mark.requirement("A-143", "A-165", "OQ-10")
async def test_a_model_that_fails_is_asked_again_and_the_turn_goes_on(stage, clock):
    faults = ModelFaults(at={number: Fault(kind=FaultKind.STATUS, status=503) for number in range(2)})
    models = ScriptedProvider(ScriptedModel(otherwise=negotiate, faults=faults), clock=clock)
    async with stage.open(models) as host:
        await host.begin(REQUEST)
        await say(stage, "200个起", "m1")
        assert len((await now(stage)).history) == 1
        await stage.pass_time(1)
        await stage.pass_time(1)
        known = await now(stage)
    assert [entry.role for entry in known.history] == ["bot", "supplier", "bot"]


@pytest.mark.requirement("A-143", "A-165")
async def test_a_model_that_stays_away_leaves_the_conversation_as_error_and_somebody_is_told(stage, clock):
    faults = ModelFaults(at={number: Fault(kind=FaultKind.STATUS, status=503) for number in range(100)})
    models = ScriptedProvider(ScriptedModel(faults=faults), clock=clock)
    async with stage.open(models) as host:
        await host.begin(REQUEST)
        await say(stage, "200个起", "m1")
        for _ in range(8):
            await stage.pass_time(1)
        known = await now(stage)
    assert (known.status, [entry.role for entry in known.history]) == (Status.ERROR, ["bot", "supplier"])
    assert [signal.signal_type for signal in known.summaries[-1].signals] == [SignalType.MANUAL_REVIEW]


@pytest.mark.requirement("A-143")
async def test_a_summary_waits_for_its_model(stage, clock):
    models = ScriptedProvider(
        ScriptedModel(otherwise=negotiate, faults=ModelFaults(at={0: Fault(kind=FaultKind.STATUS, status=503)})),
        clock=clock,
    )
    async with stage.open(models) as host:
        await host.begin(REQUEST)
        await stage.jobs.idle()
        await stage.pass_time(24)
        assert (await now(stage)).summaries == ()
        await stage.pass_time(1)
        known = await now(stage)
    assert [summary.status for summary in known.summaries] == [Status.NO_REPLY]
    assert known.summaries[0].summary_text


async def test_conversations_are_listed_newest_first_page_by_page(stage, clock):
    async with stage.open() as host:
        for number in range(5):
            await host.begin(SourcingRequest(session_id=f"s-{number}", item="杯子", qty=1))
            clock.advance(1)
        first = await host.list(limit=2)
        rest = await host.list(limit=9, before=first[-1].session_id)
        none = await host.list(status="rejected")
    assert [one.session_id for one in (*first, *rest)] == ["s-4", "s-3", "s-2", "s-1", "s-0"]
    assert none == []
