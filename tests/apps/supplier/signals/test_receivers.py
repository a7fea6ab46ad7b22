"""One interface, three receivers: each keeps a signal once, however often it comes."""

import asyncio
import json

import pytest

from groundwire.apps.supplier.contracts import BrainReceipt, Rejection
from groundwire.apps.supplier.signals.events import webhook_id_of
from groundwire.apps.supplier.signals.receivers import (
    FileReceiver,
    MemoryReceiver,
    WebhookReceiver,
    read_signal_log,
)
from groundwire.serving import WebhookKey, WebhookSender
from tests.apps.supplier.signals.samples import FOLLOW_UP, KEY, LOOPBACK, signal
from tests.serving.webhooks.wire import receiving, status

ACCEPTED = BrainReceipt(accepted=("sig_1", "sig_2"), delivered_at="2023-11-14T22:13:20.000Z")


@pytest.mark.requirement("A-058")
async def test_memory_keeps_signals_in_order_and_once(clock):
    receiver = MemoryReceiver(now=clock.now)
    assert await receiver.receive_signals([signal(), FOLLOW_UP]) == ACCEPTED
    assert await receiver.receive_signals([FOLLOW_UP, signal(reason="another text")]) == BrainReceipt(
        accepted=("sig_2", "sig_1"), delivered_at=ACCEPTED.delivered_at
    )
    assert list(receiver.signals.values()) == [signal(), FOLLOW_UP]


@pytest.mark.requirement("A-050", "A-182")
async def test_a_file_has_a_line_of_json_for_each_signal(clock, tmp_path):
    path = tmp_path / "out" / "signals.jsonl"
    assert await FileReceiver(path, now=clock.now).receive_signals([signal(), FOLLOW_UP]) == ACCEPTED
    first, second = (json.loads(line) for line in path.read_text().splitlines())
    assert (first["receivedAt"], first["signal"]["signalId"]) == ("2023-11-14T22:13:20.000Z", "sig_1")
    assert second["signal"]["followUpTiming"]["rawPhrase"] == "明天给你准信"
    assert [line.signal for line in read_signal_log(path)] == [signal(), FOLLOW_UP]


async def test_a_file_keeps_a_signal_once_also_for_two_who_write(clock, tmp_path):
    path = tmp_path / "signals.jsonl"
    one, other = FileReceiver(path, now=clock.now), FileReceiver(path, now=clock.now)
    await one.receive_signals([signal(1), signal(1)])
    await other.receive_signals([signal(1), signal(2)])
    await one.receive_signals([signal(2), signal(3)])
    await FileReceiver(path, now=clock.now).receive_signals([signal(3)])
    assert [line.signal.signal_id for line in read_signal_log(path)] == ["sig_1", "sig_2", "sig_3"]


async def test_many_who_write_at_once_lose_nothing_and_repeat_nothing(clock, tmp_path):
    path = tmp_path / "signals.jsonl"
    receivers = [FileReceiver(path, now=clock.now) for _ in range(4)]
    await asyncio.gather(
        *(receiver.receive_signals([signal(number)]) for number in range(25) for receiver in receivers)
    )
    ids = [line.signal.signal_id for line in read_signal_log(path)]
    assert sorted(ids) == sorted(f"sig_{number}" for number in range(25))


@pytest.mark.parametrize("cut", [1, 10, 200])
async def test_a_line_that_nobody_finished_is_taken_away_and_written_again(clock, tmp_path, cut):
    path = tmp_path / "signals.jsonl"
    await FileReceiver(path, now=clock.now).receive_signals([signal(1), signal(2)])
    path.write_bytes(path.read_bytes()[:-cut])
    assert [line.signal.signal_id for line in read_signal_log(path)][:1] == ["sig_1"]
    await FileReceiver(path, now=clock.now).receive_signals([signal(2)])
    assert [line.signal.signal_id for line in read_signal_log(path)] == ["sig_1", "sig_2"]
    assert len(path.read_bytes().splitlines()) == 2


async def test_a_file_that_was_begun_anew_is_filled_again(clock, tmp_path):
    path = tmp_path / "signals.jsonl"
    receiver = FileReceiver(path, now=clock.now)
    await receiver.receive_signals([signal(1)])
    path.unlink()
    await receiver.receive_signals([signal(1)])
    assert len(read_signal_log(path)) == 1


async def test_nothing_is_written_for_nothing(clock, tmp_path):
    path = tmp_path / "signals.jsonl"
    assert (await FileReceiver(path, now=clock.now).receive_signals([])).accepted == ()
    assert (path.exists(), read_signal_log(path)) == (False, [])


async def test_a_webhook_is_sent_for_each_signal_and_the_receipt_says_which_arrived(clock):
    answers = iter([status("204 Fine"), status("500 Oh"), status("204 Fine")])

    async def answer(writer):
        writer.write(next(answers))
        await writer.drain()

    async with receiving(answer) as there:
        sender = WebhookSender(allow=LOOPBACK, clock=clock)
        receiver = WebhookReceiver(sender, there.url, [WebhookKey(KEY)], now=clock.now)
        large, odd = signal(4, supplier_quote="x" * 20_000), signal(5, session_id="a\x00b")
        receipt = await receiver.receive_signals([signal(1), signal(2), odd, large, signal(3)])
        await sender.close()
    assert receipt == BrainReceipt(
        accepted=("sig_1", "sig_3"),
        rejected=(
            Rejection(id="sig_2", reason="receiver_failed"),
            Rejection(id="sig_5", reason="invalid_body"),
            Rejection(id="sig_4", reason="signal_too_large"),
        ),
        delivered_at="2023-11-14T22:13:20.000Z",
    )
    ids = [headers["webhook-id"] for _, headers, _ in there.requests]
    assert ids == [webhook_id_of(f"sig_{number}") for number in (1, 2, 3)]


async def test_where_nothing_arrives_there_is_no_time_of_delivery(clock):
    async with receiving(status("410 Gone")) as there:
        sender = WebhookSender(allow=LOOPBACK, clock=clock)
        receipt = await WebhookReceiver(sender, there.url, [WebhookKey(KEY)], now=clock.now).receive_signals([signal()])
        await sender.close()
    assert receipt == BrainReceipt(rejected=(Rejection(id="sig_1", reason="endpoint_gone"),), delivered_at="")
