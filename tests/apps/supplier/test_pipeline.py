"""The two stateless functions: a message in, a reply and captures out; a conversation in, signals out."""

import base64
from datetime import datetime

import pytest

from groundwire.apps.supplier.contracts import (
    Goal,
    GroundingMode,
    HistoryEntry,
    IncomingResult,
    Media,
    SignalType,
    SourcingRequest,
    Status,
    SummaryResult,
    as_json,
    goals_of,
)
from groundwire.apps.supplier.pipeline import (
    ASK_FOR_TEXT,
    Pipeline,
    handle_conversation_end,
    handle_follow_up,
    handle_incoming_message,
    open_conversation,
)
from groundwire.testing import Answer, Ask, FakeClock, Fault, FaultKind, ModelFaults
from tests.apps.supplier.stage import REQUEST, agents_saying, bot, supplier

OPENING = bot(open_conversation(REQUEST))
MOQ = Ask("log_data", {"goalId": "moq", "value": "200", "supplierQuote": "200个起"})


def pipeline_saying(*answers, mode=GroundingMode.STRICT, transcriber=None, **options):
    return Pipeline(agents_saying(*answers, mode=mode, **options), grounding=mode, transcriber=transcriber)


async def incoming(pipeline, *lines, trace=()):
    history = (OPENING, *(line if isinstance(line, HistoryEntry) else supplier(line) for line in lines))
    return await handle_incoming_message(
        sr=REQUEST, goals=goals_of(REQUEST), history=history, bot_tool_trace=trace, pipeline=pipeline
    )


async def ending(pipeline, *lines, status=None, trace=(), request=REQUEST):
    history = (OPENING, *(line if isinstance(line, HistoryEntry) else supplier(line) for line in lines))
    return await handle_conversation_end(
        sr=request, history=history, bot_tool_trace=trace, status=status, pipeline=pipeline
    )


@pytest.mark.requirement("A-129", "A-130", "A-134", "A-135", "A-146", "A-025", "A-005")
async def test_a_message_gives_a_reply_captures_a_status_and_the_history_with_the_reply():
    result = await incoming(pipeline_saying(Answer("", (MOQ,)), "好的，单价呢？"), "200个起")
    assert isinstance(result, IncomingResult)
    assert (result.reply, result.status) == ("好的，单价呢？", Status.CONTINUE)
    assert [(entry.turn, entry.name, entry.grounding.matched_turn) for entry in result.tool_calls] == [
        (2, "log_data", 2)
    ]
    assert [entry.role for entry in result.history] == ["bot", "supplier", "bot"]
    assert set(as_json(result)) == {"reply", "toolCalls", "status", "history"}


@pytest.mark.requirement("A-008", "A-136")
async def test_with_what_was_captured_before_the_last_goal_completes_the_conversation():
    answers = (
        Answer("", (Ask("log_data", {"goalId": "lead_time", "value": "7-10d", "supplierQuote": "交期7到10天"}),)),
        "好的，谢谢",
    )
    known = [
        *(await incoming(pipeline_saying(Answer("", (MOQ,)), "好"), "200个起")).tool_calls,
        *(
            await incoming(
                pipeline_saying(
                    Answer(
                        "", (Ask("log_data", {"goalId": "unit_price", "value": "6.5", "supplierQuote": "单价6.5"}),)
                    ),
                    "好",
                ),
                "单价6.5",
            )
        ).tool_calls,
    ]
    plain = SourcingRequest(session_id="s-1", item="杯子", qty=10)
    lines = (OPENING, supplier("200个起，单价6.5"), bot("好"), supplier("交期7到10天"))
    result = await handle_incoming_message(
        sr=plain, history=lines, bot_tool_trace=known, pipeline=pipeline_saying(*answers)
    )
    assert result.status is Status.COMPLETED
    alone = await handle_incoming_message(sr=plain, history=lines, pipeline=pipeline_saying(*answers))
    assert alone.status is Status.CONTINUE


@pytest.mark.requirement("A-102", "A-104")
async def test_strict_drops_an_ungrounded_capture_and_report_keeps_it_marked():
    wrong = Answer("", (Ask("log_data", {"goalId": "moq", "value": "200", "supplierQuote": "起订200"}),))
    strict = await incoming(pipeline_saying(wrong, "好"), "200个起")
    report = await incoming(pipeline_saying(wrong, "好", mode=GroundingMode.REPORT), "200个起")
    assert strict.tool_calls == ()
    assert [entry.grounding.near_miss for entry in report.tool_calls] == ["paraphrase"]


@pytest.mark.requirement("A-159", "OQ-05")
async def test_a_voice_message_that_nobody_can_hear_is_answered_by_asking_for_text():
    result = await incoming(pipeline_saying(), "[语音消息]")
    assert (result.reply, result.tool_calls, result.status) == (ASK_FOR_TEXT, (), Status.CONTINUE)


async def hears(media):
    assert media.data
    return "80顶起"


async def hears_nothing(media):
    raise RuntimeError("no model")


@pytest.mark.requirement("A-159", "OQ-05")
async def test_a_voice_message_is_read_where_somebody_can_listen():
    sound = Media(media_type="audio/amr", data=base64.b64encode(b"#!AMR").decode())
    spoken = supplier("[语音消息]", media=(sound,))
    asked = Ask("log_data", {"goalId": "moq", "value": "80", "supplierQuote": "80顶起"})
    result = await incoming(pipeline_saying(Answer("", (asked,)), "好的", transcriber=hears), spoken)
    assert result.history[1].content == "[语音转文字] 80顶起"
    assert [entry.args["value"] for entry in result.tool_calls] == ["80"]


async def test_ears_that_fail_leave_a_voice_message_unheard_and_the_conversation_whole():
    sound = Media(media_type="audio/amr", data=base64.b64encode(b"#!AMR").decode())
    result = await incoming(pipeline_saying(transcriber=hears_nothing), supplier("[语音消息]", media=(sound,)))
    assert result.reply == ASK_FOR_TEXT


async def test_a_canned_reply_is_not_answered_and_no_model_is_asked():
    result = await incoming(pipeline_saying(), "【自动回复】亲，欢迎光临")
    assert (result.reply, result.tool_calls, result.status) == ("", (), Status.CONTINUE)
    assert [entry.role for entry in result.history] == ["bot", "supplier"]


def noting(seen, *answers):
    left = iter(answers)

    def answer(request):
        seen.append(request.instructions[0].text)
        return next(left)

    return answer


@pytest.mark.requirement("A-157", "OQ-04")
async def test_an_invitation_elsewhere_is_declined_once_and_the_second_one_ends_it():
    seen = []
    pipeline = pipeline_saying(otherwise=noting(seen, Answer("我们在平台上聊就好"), Answer("抱歉")))
    first = await incoming(pipeline, "这里打字慢，加个微信详聊吧")
    assert (first.status, "只在平台上沟通" in seen[0]) == (Status.CONTINUE, True)
    lines = (*first.history, supplier("平台消息我不常看，vx上说"))
    second = await handle_incoming_message(sr=REQUEST, history=lines, pipeline=pipeline)
    assert second.status is Status.WECHAT_REDIRECT


@pytest.mark.requirement("A-150", "A-024")
async def test_the_bot_is_told_that_it_sees_no_more_than_a_token():
    seen = []
    await incoming(pipeline_saying(otherwise=noting(seen, Answer("收到"))), "[图片] 尺寸")
    assert "只是标记" in seen[0]


@pytest.mark.requirement("A-149", "OQ-01")
async def test_a_picture_that_came_along_is_shown_and_not_called_a_token():
    seen = []
    image = Media(media_type="image/png", data=base64.b64encode(b"\x89PNG\r\n\x1a\n0000").decode())
    pipeline = pipeline_saying(otherwise=noting(seen, Answer("收到")))
    await incoming(pipeline, supplier("[图片] 尺寸", media=(image,)))
    assert "只是标记，你看不到" not in seen[0]


@pytest.mark.requirement("A-165")
async def test_a_model_that_cannot_be_reached_gives_error_and_the_history_as_it_came():
    failing = ModelFaults(at={0: Fault(kind=FaultKind.STATUS, status=503)})
    result = await incoming(pipeline_saying("x", faults=failing), "200个起")
    assert (result.reply, result.status) == ("", Status.ERROR)
    assert [entry.role for entry in result.history] == ["bot", "supplier"]


@pytest.mark.requirement("A-155")
async def test_a_follow_up_speaks_first_with_the_state_of_before():
    seen = []
    pipeline = pipeline_saying(otherwise=noting(seen, Answer("请问师傅怎么说？")))
    history = (OPENING, supplier("压字要问师傅，明天给你准信"), bot("好的"))
    result = await handle_follow_up(sr=REQUEST, history=history, reason="明天给你准信", pipeline=pipeline)
    assert [entry.content for entry in result.history[-2:]] == ["好的", "请问师傅怎么说？"]
    assert "跟进原因：明天给你准信" in seen[0]


@pytest.mark.requirement(
    "A-131", "A-137", "A-138", "A-060", "A-061", "A-062", "A-063", "A-064", "A-065", "A-066", "A-067", "A-068", "A-069",
    "A-070", "A-071", "A-072", "A-057",
)  # fmt: skip
async def test_an_escalation_has_every_field_of_the_contract():
    call = Ask(
        "flag_escalation",
        {
            "goalId": "customization",
            "blockerType": "quantity_too_low",
            "reason": "Buyer needs to increase order quantity.",
            "supplierQuote": "50个开不了机",
            "suggestedUnlock": "Buyer increases quantity to 200+",
        },
    )
    result = await ending(pipeline_saying(Answer("", (call,)), "总结"), "50个开不了机", status=Status.COMPLETED)
    assert isinstance(result, SummaryResult)
    signal = as_json(result.signals[0])
    grounding, signal_id = signal.pop("grounding"), signal.pop("signalId")
    assert grounding["grounded"] is True
    assert signal_id.startswith("sig_")
    assert signal == {
        "sessionId": "s-1",
        "supplierId": "sup-7",
        "supplierName": "某某箱包厂",
        "source": "summary-agent-llm",
        "timestamp": "2026-03-11T02:00:00.000Z",
        "signalType": "human_escalation",
        "severity": "medium",
        "reason": "quantity_too_low: Buyer needs to increase order quantity.",
        "goalId": "customization",
        "blockerType": "quantity_too_low",
        "supplierQuote": "50个开不了机",
        "suggestedUnlock": "Buyer increases quantity to 200+",
    }


@pytest.mark.requirement("A-055", "A-073", "A-075", "A-076", "A-077", "A-078", "A-079")
async def test_a_time_that_was_named_is_computed_by_the_calendar_whatever_the_model_says():
    call = Ask("extract_timing", {"goalId": "customization", "supplierQuote": "明天给你准信", "delayHours": 3})
    result = await ending(
        pipeline_saying(Answer("", (call,)), "总结"), "压字要问师傅，明天给你准信", status=Status.COMPLETED
    )
    (signal,) = result.signals
    assert (signal.signal_type, signal.severity) == (SignalType.SCHEDULE_FOLLOW_UP, "medium")
    assert signal.reason == 'Supplier indicated timing: "明天给你准信" (~24h).'
    timing = signal.follow_up_timing
    assert (timing.delay_hours, timing.confidence, timing.raw_phrase) == (24.0, "high", "明天给你准信")
    assert datetime.fromisoformat(timing.due_at) == datetime.fromisoformat("2026-03-12T10:00:00+08:00")


async def test_a_time_that_nobody_can_read_is_the_models_estimate_within_working_hours():
    call = Ask("extract_timing", {"supplierQuote": "等船靠岸", "delayHours": 40, "confidence": "medium"})
    result = await ending(pipeline_saying(Answer("", (call,)), "总结"), "等船靠岸再说", status=Status.COMPLETED)
    timing = result.signals[0].follow_up_timing
    assert (timing.delay_hours, timing.confidence, timing.clamped_to) == (40.0, "medium", "working_hours")
    assert timing.due_at == "2026-03-13T09:00:00+08:00"


async def test_a_time_beyond_the_horizon_is_capped_and_somebody_is_told():
    call = Ask("extract_timing", {"supplierQuote": "五一后答复你"})
    result = await ending(pipeline_saying(Answer("", (call,)), "总结"), "五一后答复你", status=Status.COMPLETED)
    assert [signal.signal_type for signal in result.signals] == [
        SignalType.SCHEDULE_FOLLOW_UP,
        SignalType.HUMAN_ESCALATION,
    ]
    assert result.signals[0].follow_up_timing.delay_hours == 1344.0
    assert result.signals[1].source == "status-rule"


@pytest.mark.requirement("A-052", "A-080", "A-051")
@pytest.mark.parametrize(("urgency", "severity"), [("blocking_quote", "high"), ("nice_to_have", "medium")])
async def test_a_file_without_which_there_is_no_quote_is_urgent(urgency, severity):
    noted = Ask("note_file_request", {"assetType": "logo", "urgency": urgency, "supplierQuote": "logo发我一下"})
    captured = (await incoming(pipeline_saying(Answer("", (noted,)), "好"), "logo发我一下")).tool_calls
    call = Ask(
        "emit_signal",
        {"signalType": "asset_request", "reason": "Logo", "goalId": "customization", "supplierQuote": "logo发我一下"},
    )
    result = await ending(
        pipeline_saying(Answer("", (call,)), "总结"), "logo发我一下", status=Status.COMPLETED, trace=captured
    )
    assert result.signals[0].severity == severity


@pytest.mark.requirement("A-053", "A-158", "X-15")
@pytest.mark.parametrize(
    ("line", "kind", "severity"),
    [
        ("[语音消息]", "manual_review", "medium"),
        ("单价28", "manual_review", "low"),
        ("加微信吧", "wechat_redirect", "low"),
    ],
)
async def test_severity_follows_from_what_happened(line, kind, severity):
    call = Ask("emit_signal", {"signalType": kind, "reason": "x", "supplierQuote": line})
    result = await ending(pipeline_saying(Answer("", (call,)), "总结"), line, status=Status.COMPLETED)
    assert (result.signals[0].signal_type, result.signals[0].severity) == (SignalType(kind), severity)


@pytest.mark.requirement("A-110", "X-15")
@pytest.mark.parametrize(
    ("line", "status", "kind"),
    [
        ("不好意思，这款停产了", Status.REJECTED, SignalType.HUMAN_ESCALATION),
        ("加个微信详聊吧", Status.WECHAT_REDIRECT, SignalType.WECHAT_REDIRECT),
    ],
)
async def test_an_end_of_which_nothing_is_left_speaks_for_itself_with_the_words_that_decided_it(line, status, kind):
    wrong = Ask("flag_escalation", {"reason": "x", "supplierQuote": "这款停产了/您问问别家吧"})
    result = await ending(pipeline_saying(Answer("", (wrong,)), "总结"), line, status=status)
    (signal,) = result.signals
    assert (signal.signal_type, signal.source) == (kind, "status-rule")
    assert signal.supplier_quote in line
    assert signal.grounding.grounded


@pytest.mark.requirement("X-16")
async def test_a_malformed_signal_call_is_kept_in_the_trace_and_never_becomes_a_signal():
    broken = Ask("flag_escalation", {"reason": "x"})
    result = await ending(pipeline_saying(Answer("", (broken,)), "总结"), "50个做不了", status=Status.COMPLETED)
    assert result.signals == ()
    assert [(entry.valid, entry.args["supplierQuote"]) for entry in result.tool_calls] == [(False, None)]


@pytest.mark.requirement("A-167")
async def test_a_signal_for_a_goal_that_nobody_asked_for_is_delivered_and_flagged():
    call = Ask(
        "emit_signal", {"signalType": "manual_review", "reason": "x", "goalId": "colour", "supplierQuote": "红色"}
    )
    result = await ending(pipeline_saying(Answer("", (call,)), "总结"), "红色", status=Status.COMPLETED)
    assert (result.signals[0].goal_id, result.signals[0].flags) == ("colour", ("unknown_goal",))


@pytest.mark.requirement("A-074")
async def test_what_nobody_knows_is_left_out_of_a_signal():
    call = Ask("emit_signal", {"signalType": "manual_review", "reason": "x", "supplierQuote": "红色"})
    bare = SourcingRequest(session_id="s-9", item="杯子", qty=1)
    result = await ending(pipeline_saying(Answer("", (call,)), "总结"), "红色", status=Status.COMPLETED, request=bare)
    assert not {"supplierId", "supplierName", "goalId", "blockerType"} & set(as_json(result.signals[0]))


async def test_the_same_conversation_names_its_signals_the_same_and_a_longer_one_does_not():
    call = Ask("emit_signal", {"signalType": "manual_review", "reason": "x", "supplierQuote": "红色"})

    async def names(*lines):
        result = await ending(pipeline_saying(Answer("", (call,)), "总结"), *lines, status=Status.COMPLETED)
        return [signal.signal_id for signal in result.signals]

    assert await names("红色") == await names("红色") != await names("红色", "好的")


def test_goals_are_the_usual_ones_and_customization_where_it_is_wanted():
    assert [goal.goal_id for goal in goals_of(REQUEST)] == ["moq", "unit_price", "lead_time", "customization"]
    assert Goal(goal_id="customization") not in goals_of(SourcingRequest(session_id="s", item="杯子", qty=1))


def promising(at):
    call = Ask("extract_timing", {"supplierQuote": "明天给你准信"})
    return pipeline_saying(Answer("", (call,)), "总结"), supplier("明天给你准信", timestamp=at)


@pytest.mark.requirement("A-076", "A-077", "A-145")
@pytest.mark.parametrize(
    ("said", "due", "why"),
    [
        ("2026-03-10T15:00:00+08:00", "2026-03-11T15:00:00+08:00", ""),
        ("2026-03-09T15:00:00+08:00", "2026-03-11T10:00:00+08:00", "overdue"),
    ],
)
async def test_tomorrow_is_the_day_after_it_was_said_and_not_after_the_end(said, due, why):
    pipeline, line = promising(said)
    result = await ending(pipeline, line, status=Status.NO_REPLY)
    timing = result.signals[0].follow_up_timing
    assert (timing.delay_hours, timing.due_at, timing.clamped_to) == (24.0, due, why)


@pytest.mark.parametrize(("quote", "hours"), [("明天", 24.0), ("周五", 48.0), ("三天出货", 5.0)])
async def test_words_that_are_taken_for_a_promise_need_no_verb_but_shipping_is_none(quote, hours):
    call = Ask("extract_timing", {"supplierQuote": quote, "delayHours": 5})
    result = await ending(pipeline_saying(Answer("", (call,)), "总结"), f"{quote}吧", status=Status.COMPLETED)
    assert result.signals[0].follow_up_timing.delay_hours == hours


async def test_a_time_that_needs_the_holidays_of_an_unknown_year_says_so():
    call = Ask("extract_timing", {"supplierQuote": "节后给你答复", "delayHours": 100})
    clock = FakeClock(datetime.fromisoformat("2026-12-01T10:00:00+08:00").timestamp())
    result = await ending(
        pipeline_saying(Answer("", (call,)), "总结", clock=clock), "节后给你答复", status=Status.COMPLETED
    )
    assert result.signals[0].flags == ("unknown_year:2027",)
