"""Silence and coming back, when machines write in between and when people do."""

import pytest

from groundwire.apps.supplier.contracts import SourcingRequest, Status
from groundwire.apps.supplier.negotiator import rules_models
from tests.apps.supplier.stage import REQUEST, supplier

SESSION = REQUEST.session_id
CANNED = "【自动回复】亲，客服正在赶来"


class CutOff:
    """Jobs that cannot be asked for the next sending, once armed: as if the process had died just then."""

    def __init__(self, jobs):
        self.jobs, self.is_armed = jobs, False

    def __getattr__(self, name):
        return getattr(self.jobs, name)

    async def submit(self, kind, *arguments, **options):
        if self.is_armed and kind == "supplier.send":
            self.is_armed = False
            raise ConnectionError("cut off")
        return await self.jobs.submit(kind, *arguments, **options)


async def say(stage, text, message_id, session=SESSION):
    await stage.host.receive(session, supplier(text, message_id=message_id))
    await stage.jobs.idle()


@pytest.mark.requirement("A-009", "A-141")
async def test_a_conversation_that_went_on_after_silence_can_fall_silent_again(stage):
    async with stage.open() as host:
        await host.begin(REQUEST)
        await stage.jobs.idle()
        await stage.pass_time(24)
        assert (await host.find(SESSION)).status is Status.NO_REPLY
        await say(stage, "不好意思才看到，200个起", "m1")
        assert (await host.find(SESSION)).status is Status.CONTINUE
        await stage.pass_time(23.9)
        assert (await host.find(SESSION)).status is Status.CONTINUE
        await stage.pass_time(0.2)
        known = await host.find(SESSION)
    assert [summary.status for summary in known.summaries] == [Status.NO_REPLY, Status.NO_REPLY]


@pytest.mark.requirement("A-145", "OQ-03", "OQ-12")
async def test_a_canned_reply_after_the_end_is_no_new_end_and_cancels_no_follow_up(stage):
    async with stage.open() as host:
        await host.begin(REQUEST)
        await stage.jobs.idle()
        await stage.pass_time(24)
        planned = (await host.find(SESSION)).follow_up
        await say(stage, CANNED, "m1")
        known = await host.find(SESSION)
        assert (known.follow_up, len(known.summaries), known.status) == (planned, 1, Status.NO_REPLY)
        await stage.pass_time(24)
        known = await host.find(SESSION)
    assert (known.follow_ups, known.status) == (1, Status.CONTINUE)
    assert [entry.role for entry in known.history] == ["bot", "supplier", "bot"]


@pytest.mark.requirement("A-009", "OQ-03")
async def test_a_canned_reply_to_a_follow_up_does_not_cut_the_wait_short(stage):
    async with stage.open() as host:
        await host.begin(REQUEST)
        await stage.jobs.idle()
        await stage.pass_time(24)
        await stage.pass_time(24)
        assert (await host.find(SESSION)).follow_ups == 1
        await say(stage, CANNED, "m1")
        assert (await host.find(SESSION)).status is Status.CONTINUE
        await stage.pass_time(24)
        assert (await host.find(SESSION)).status is Status.NO_REPLY


class Interrupted:
    """Rules that are interrupted by a machine's message while they write."""

    def __init__(self, models):
        self._models, self.interrupt = models, None

    async def complete(self, request, options=None):
        interrupt, self.interrupt = self.interrupt, None
        if interrupt is not None:
            await interrupt()
        return await self._models.complete(request)

    async def close(self):
        await self._models.close()


@pytest.mark.requirement("A-145", "OQ-12")
@pytest.mark.parametrize(("line", "follow_ups"), [(CANNED, 1), ("在的，什么事", 0)])
async def test_what_comes_while_a_follow_up_is_written_stops_it_only_if_a_person_wrote_it(
    stage, clock, line, follow_ups
):
    models = Interrupted(rules_models(clock))
    async with stage.open(models) as host:
        await host.begin(REQUEST)
        await stage.jobs.idle()
        await stage.pass_time(24)
        models.interrupt = lambda: host.receive(SESSION, supplier(line, message_id="m1"))
        await stage.pass_time(24)
        known = await host.find(SESSION)
    assert known.follow_ups == follow_ups
    assert sorted(entry.role for entry in known.history) == ["bot", "bot", "supplier"]
    assert [message_id for message_id, _ in stage.sent] == [one.message_id for one in known.outbox]


async def test_conversations_whose_names_look_alike_do_not_share_their_turns(stage):
    other = f"{SESSION}.follow_up"
    async with stage.open() as host:
        await host.begin(SourcingRequest(session_id=other, item="杯子", qty=10))
        await say(stage, "200个起", "m1", other)
        await host.begin(REQUEST)
        await stage.jobs.idle()
        await stage.pass_time(24)
        await stage.pass_time(24)
        theirs, ours = await host.find(other), await host.find(SESSION)
    assert ours.follow_ups == 1
    assert ours.history[-1].content != theirs.history[2].content


@pytest.mark.requirement("A-009", "A-141")
async def test_where_working_hours_are_counted_a_night_is_no_silence(stage):
    async with stage.open(silence_hours=10, working_hours=True) as host:
        await host.begin(REQUEST)
        await stage.jobs.idle()
        await stage.pass_time(24)  # 8 hours on Wednesday, 1 on Thursday
        assert (await host.find(SESSION)).status is Status.CONTINUE
        await stage.pass_time(0.9)
        assert (await host.find(SESSION)).status is Status.CONTINUE
        await stage.pass_time(0.2)
        assert (await host.find(SESSION)).status is Status.NO_REPLY


@pytest.mark.requirement("A-145", "OQ-12")
async def test_a_follow_up_that_was_cut_off_after_it_spoke_is_sent_all_the_same_and_once(stage):
    cut = []
    async with stage.open(through=lambda jobs: cut.append(CutOff(jobs)) or cut[0]) as host:
        await host.begin(REQUEST)
        await stage.jobs.idle()
        await stage.pass_time(24)
        cut[0].is_armed = True
        await stage.pass_time(24)
        assert not cut[0].is_armed
        await stage.pass_time(1)
        known = await host.find(SESSION)
        (job,) = await stage.jobs.list(kind="supplier.follow_up")
        await stage.pass_time(24)
        silent = await host.find(SESSION)
    assert (job.attempt, job.result, known.follow_ups) == (2, {"fired": True}, 1)
    assert [message_id for message_id, _ in stage.sent] == [f"{SESSION}.bot.1", f"{SESSION}.bot.2"]
    assert silent.status is Status.NO_REPLY
