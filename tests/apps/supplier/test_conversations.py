"""How a conversation changes, step by step, without anybody around it."""

import pytest

from groundwire.apps.supplier.contracts import IncomingResult, Status, SummaryResult
from groundwire.apps.supplier.host import conversations as changes
from groundwire.apps.supplier.host.conversations import MAX_FOLLOW_UPS
from tests.apps.supplier.stage import NOON, REQUEST, bot, supplier


def opened():
    return changes.opened(REQUEST, (), bot("在吗"), NOON)


def replied(conversation, text, status=Status.CONTINUE):
    history = (*conversation.history, conversation.inbox[0], bot(text))
    return IncomingResult(reply=text, tool_calls=(), status=status, history=history)


def heard(conversation, text, message_id="m1"):
    return changes.arrived(conversation, supplier(text, message_id=message_id))


def test_an_answer_goes_out_once_and_the_wait_begins_anew():
    known = heard(opened(), "在的")
    after = changes.answered(known, replied(known, "起订量多少？"), "b2", NOON + 60)
    assert [entry.content for entry in after.history] == ["在吗", "在的", "起订量多少？"]
    assert [(one.text, one.is_sent) for one in after.outbox] == [("在吗", False), ("起订量多少？", False)]
    assert (after.inbox, after.waiting_since, after.status) == ((), NOON + 60, Status.CONTINUE)
    assert [one.is_sent for one in changes.sent(after, "b2").outbox] == [False, True]


def test_a_person_who_writes_after_the_end_opens_it_again_and_ends_all_plans():
    over = changes.ended(opened(), Status.NO_REPLY)
    planned = changes.summarised(over, SummaryResult(summary_text="", signals=(), tool_calls=()), None, NOON)
    assert heard(planned, "在的").status is Status.CONTINUE
    assert heard(planned, "【自动回复】欢迎光临").status is Status.NO_REPLY


@pytest.mark.requirement("A-143", "OQ-10")
def test_a_turn_that_failed_for_good_leaves_the_message_without_half_a_reply():
    after = changes.given_up(heard(opened(), "在的"), "unreachable")
    assert [entry.content for entry in after.history] == ["在吗", "在的"]
    assert (after.status, after.failure, after.inbox) == (Status.ERROR, "unreachable", ())


def test_there_are_only_so_many_attempts_to_come_back():
    from groundwire.apps.supplier.contracts import FollowUpTiming, Signal, SignalType

    signal = Signal(
        session_id="s-1",
        signal_type=SignalType.SCHEDULE_FOLLOW_UP,
        severity="medium",
        reason="silent",
        source="status-rule",
        follow_up_timing=FollowUpTiming(delay_hours=24, raw_phrase="", confidence="low"),
    )
    summary = SummaryResult(summary_text="", signals=(signal,), tool_calls=())
    known = opened()
    for attempt in range(1, MAX_FOLLOW_UPS + 1):
        known = changes.summarised(changes.ended(known, Status.NO_REPLY), summary, NOON + attempt, NOON)
        assert (known.follow_up.attempt, known.follow_up.history_ref) == (attempt, known.history_ref)
        spoken = IncomingResult(
            reply="还在吗", tool_calls=(), status=Status.CONTINUE, history=(*known.history, bot(f"还在吗{attempt}"))
        )
        known = changes.followed_up(known, spoken, f"f{attempt}", NOON)
    assert changes.summarised(changes.ended(known, Status.NO_REPLY), summary, NOON + 9, NOON).follow_up is None
    assert heard(known, "在的").follow_ups == 0
