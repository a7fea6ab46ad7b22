from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundwire.apps.supplier.contracts import Goal, Grounding, HistoryEntry, SourcingRequest, Status, TraceEntry
from groundwire.apps.supplier.statuses import Silence, Situation, detect_status, goal_states
from groundwire.apps.supplier.timing import OFFICE, SHANGHAI

REQUEST = SourcingRequest(session_id="s1", item="竹砧板", qty=150)
GOALS = tuple(Goal(goal_id=name) for name in ("moq", "unit_price", "lead_time"))
WEDNESDAY = datetime(2026, 3, 11, 10, tzinfo=SHANGHAI)


def talk(*lines, start=WEDNESDAY, minutes=5):
    """Our lines begin with `>`; five minutes lie between any two."""
    return [
        HistoryEntry(
            role="bot" if line.startswith(">") else "supplier",
            content=line.removeprefix(">"),
            timestamp=(start + timedelta(minutes=minutes * place)).isoformat(),
        )
        for place, line in enumerate(lines)
    ]


def logged(*goal_ids, **more):
    return [
        TraceEntry(turn=2, name="log_data", args={"goalId": goal_id, "value": "1", "supplierQuote": "1"}, **more)
        for goal_id in goal_ids
    ]


def status_of(*lines, trace=(), goals=GOALS, **situation):
    found = detect_status(REQUEST, goals, talk(*lines), trace, Situation(**situation))
    return found.status.value, found.rule


@pytest.mark.requirement("X-14")
def test_a_status_is_one_of_six():
    assert [status.value for status in Status] == [
        "continue",
        "completed",
        "no_reply",
        "rejected",
        "wechat_redirect",
        "error",
    ]


def test_a_conversation_goes_on_while_goals_are_open():
    assert status_of(">您好", "在的") == ("continue", "goals_open")


def test_an_unreachable_model_is_an_error_before_everything_else():
    assert status_of(">您好", "停产了", failed=True) == ("error", "model_unreachable")


@pytest.mark.requirement("A-008")
def test_settled_goals_complete_the_conversation():
    assert status_of(">您好", "在的", trace=logged("moq", "unit_price", "lead_time")) == ("completed", "goals_settled")
    assert status_of(">您好", "在的", trace=logged("moq", "unit_price")) == ("continue", "goals_open")


def test_a_blocker_settles_its_goal():
    blocker = TraceEntry(turn=2, name="note_blocker", args={"goalId": "lead_time", "blockerType": "spec_refusal"})
    assert status_of(">您好", "在的", trace=[*logged("moq", "unit_price"), blocker])[0] == "completed"


@pytest.mark.parametrize(
    "more", [{"valid": False}, {"grounding": Grounding(grounded=False)}], ids=["invalid", "ungrounded"]
)
def test_a_capture_without_evidence_settles_nothing(more):
    assert status_of(">您好", "在的", trace=logged("moq", "unit_price", "lead_time", **more))[0] == "continue"


@pytest.mark.parametrize(("urgency", "state"), [("blocking_quote", "waiting"), ("nice_to_have", "open")])
def test_the_price_waits_for_a_file_that_blocks_it(urgency, state):
    request = TraceEntry(turn=2, name="note_file_request", args={"assetType": "design", "urgency": urgency})
    states = goal_states(GOALS, talk(">您好", "没有设计图报不了价"), [request])
    assert states == {"moq": "open", "unit_price": state, "lead_time": "open"}


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ((">交期多久", "交期明天告诉你"), {"lead_time"}),
        ((">交期多久", "明天告诉你"), {"lead_time"}),
        ((">您好", "明天告诉你"), {"moq", "unit_price", "lead_time"}),
        ((">交期多久", "稍等，我看下"), set()),
        ((">交期多久", "明天发货"), set()),
        ((">交期多久", "【自动回复】明天告诉您"), set()),
    ],
)
def test_a_goal_waits_for_a_time_that_was_named(lines, expected):
    states = goal_states(GOALS, talk(*lines), ())
    assert {name for name, state in states.items() if state == "waiting"} == expected


def test_a_time_that_has_come_is_waited_for_no_more():
    lines = (">您好", "明天告诉你")
    assert status_of(*lines, now=WEDNESDAY + timedelta(hours=24))[0] == "completed"
    assert status_of(*lines, now=WEDNESDAY + timedelta(hours=24, minutes=5))[0] == "continue"


def test_used_up_lines_complete_a_conversation_in_which_somebody_spoke():
    assert status_of(">您好", "在的", lines_used_up=True) == ("completed", "lines_used_up")
    assert status_of(">您好", "亲，欢迎光临", lines_used_up=True) == ("no_reply", "silent")
    assert status_of(">您好", lines_used_up=True) == ("no_reply", "silent")


def test_a_request_without_goals_is_not_complete_by_itself():
    assert status_of(">您好", "在的", goals=()) == ("continue", "goals_open")


@pytest.mark.requirement("A-010")
def test_a_refusal_ends_the_conversation_with_its_words():
    found = detect_status(REQUEST, GOALS, talk(">您好", "不好意思，这款停产了", "您问问别家吧"), ())
    assert (found.status, found.rule, found.message, found.quote) == (Status.REJECTED, "refused", 1, "这款停产了")
    assert (found.start, found.end) == (5, 10)


@pytest.mark.parametrize(
    "lines",
    [
        ("不接小单，不过你加到200可以",),
        ("不接小单", "不过你加到200可以"),
        ("这款停产了", "要不看看新款"),
        ("这个不做了", ">好的", "另外一款6块5一个"),
        ("丝印我们做不了", "只能激光"),
        ("再低不行，老板定的我改不了",),
        ("50个开不了机，印不了的",),
        ("定制不做了", "现货6块5"),
    ],
)
def test_a_counter_offer_or_a_blocker_is_no_refusal(lines):
    assert status_of(">您好", *lines)[0] == "continue"


def test_a_polite_next_message_takes_no_refusal_back():
    assert status_of(">您好", "不卖外贸的", "不好意思哈")[0] == "rejected"


def test_a_refusal_by_a_machine_is_none():
    assert status_of(">您好", "【自动回复】本款停产了")[0] == "continue"


@pytest.mark.requirement("A-011", "A-156")
def test_the_first_invitation_elsewhere_is_to_be_deflected_and_the_second_ends_the_conversation():
    lines = (">您好", "量大可以谈的", ">数量500", "这里打字慢，加个微信详聊吧")
    first = detect_status(REQUEST, GOALS, talk(*lines), ())
    assert (first.status, first.rule, first.deflect) == (Status.CONTINUE, "invited", True)
    assert (first.message, first.quote) == (3, "加个微信详聊吧")
    second = detect_status(REQUEST, GOALS, talk(*lines, ">我们在平台上谈", "平台消息我不常看，vx上说"), ())
    assert (second.status, second.rule, second.deflect) == (Status.WECHAT_REDIRECT, "invited_again", False)
    assert (second.message, second.quote) == (5, "vx上说")


def test_an_invitation_that_was_deflected_is_over_when_the_talk_goes_on():
    found = detect_status(REQUEST, GOALS, talk(">您好", "加个微信吧", ">平台上谈吧", "好的，200块起"), ())
    assert (found.status, found.rule, found.deflect) == (Status.CONTINUE, "goals_open", False)


def test_two_invitations_in_a_row_are_one_push():
    found = detect_status(REQUEST, GOALS, talk(">您好", "加个微信吧", "我微信 abc123"), ())
    assert (found.status, found.deflect) == (Status.CONTINUE, True)


def test_silence_after_a_deflected_invitation_is_a_redirect():
    lines = (">您好", "加个微信吧", ">平台上谈吧")
    asked = WEDNESDAY + timedelta(minutes=10)
    assert status_of(*lines, now=asked + timedelta(hours=23, minutes=59))[0] == "continue"
    assert status_of(*lines, now=asked + timedelta(hours=24)) == ("wechat_redirect", "silent_after_invitation")


def test_a_machines_invitation_is_none():
    assert status_of(">您好", "【自动回复】加微信详聊", ">平台上谈", "【自动回复】加微信详聊哦")[0] == "continue"


@pytest.mark.requirement("A-009")
def test_silence_begins_with_our_first_unanswered_message():
    lines = (">您好", ">在吗", ">还在吗")
    assert status_of(*lines, now=WEDNESDAY + timedelta(hours=24, seconds=-1)) == ("continue", "goals_open")
    assert status_of(*lines, now=WEDNESDAY + timedelta(hours=24)) == ("no_reply", "silent")


def test_canned_words_do_not_break_silence_and_a_voice_message_does():
    late = WEDNESDAY + timedelta(hours=24)
    assert status_of(">您好", "亲，欢迎光临，客服正在飞奔而来", now=late)[0] == "no_reply"
    assert status_of(">您好", "[语音消息]", now=late)[0] == "continue"
    assert status_of(">您好", "[语音消息]", ">请打字", now=late + timedelta(minutes=10))[0] == "no_reply"


def test_nobody_is_silent_while_it_is_our_turn_or_without_a_clock():
    assert status_of(">您好", "在的", now=WEDNESDAY + timedelta(days=9))[0] == "continue"
    assert status_of(">您好")[0] == "continue"


def test_a_follow_up_begins_the_silence_anew():
    now = WEDNESDAY + timedelta(days=5)
    assert status_of(">您好", now=now)[0] == "no_reply"
    assert status_of(">您好", now=now, waiting_since=now - timedelta(hours=23))[0] == "continue"
    assert status_of(">您好", now=now, waiting_since=now - timedelta(hours=24))[0] == "no_reply"


def test_the_window_can_be_another():
    silence = Silence(window=timedelta(hours=2))
    assert status_of(">您好", now=WEDNESDAY + timedelta(minutes=119), silence=silence)[0] == "continue"
    assert status_of(">您好", now=WEDNESDAY + timedelta(minutes=120), silence=silence)[0] == "no_reply"


def test_only_working_hours_may_count():
    silence = Silence(working_hours=OFFICE)  # 8 hours on Wednesday, 9 on Thursday, then 7 of Friday
    assert status_of(">您好", now=datetime(2026, 3, 13, 15, 59, tzinfo=SHANGHAI), silence=silence)[0] == "continue"
    assert status_of(">您好", now=datetime(2026, 3, 13, 16, tzinfo=SHANGHAI), silence=silence)[0] == "no_reply"


def test_without_a_calendar_of_the_year_every_hour_counts_and_that_is_said():
    start = datetime(2027, 3, 12, 10, tzinfo=SHANGHAI)
    situation = Situation(now=start + timedelta(hours=24), silence=Silence(working_hours=OFFICE))
    found = detect_status(REQUEST, GOALS, talk(">您好", start=start), (), situation)
    assert (found.status, found.unknown_year) == (Status.NO_REPLY, 2027)


def test_a_settled_conversation_is_complete_though_silent():
    late = WEDNESDAY + timedelta(days=3)
    trace = logged("moq", "unit_price", "lead_time")
    assert status_of(">您好", "在的", ">谢谢", trace=trace, now=late)[0] == "completed"


LINES = st.sampled_from(
    [
        ">您好",
        ">交期多久",
        "在的",
        "停产了",
        "不接小单，不过你加到200可以",
        "加个微信吧",
        "明天给你答复",
        "节后给你",
        "[语音消息]",
        "[撤回了一条消息]",
        "【自动回复】欢迎光临",
        "100个起，6块5",
        "",
    ]
)


@given(st.lists(LINES, max_size=12), st.none() | st.timedeltas(timedelta(), timedelta(days=400)), st.booleans())
def test_any_conversation_has_a_status_and_quotes_its_own_messages(lines, wait, used_up):
    now = None if wait is None else WEDNESDAY + wait
    situation = Situation(now=now, lines_used_up=used_up, silence=Silence(working_hours=OFFICE))
    history = talk(*lines)
    found = detect_status(REQUEST, GOALS, history, (), situation)
    assert set(found.goals) == {"moq", "unit_price", "lead_time"}
    if found.message is not None:
        assert history[found.message].role == "supplier"
        assert history[found.message].content[found.start : found.end] == found.quote != ""


def test_a_promise_without_a_time_of_its_own_counts_from_our_answer_to_it():
    history = talk(">您好", "明天告诉你", ">好的")
    unstamped = [history[0], HistoryEntry(role="supplier", content="明天告诉你"), history[2]]
    late = Situation(now=WEDNESDAY + timedelta(hours=24, minutes=11))
    assert "waiting" not in goal_states(GOALS, unstamped, (), late).values()
