"""The bot's turn: what it says, and what it asked for, in the shape of the contract."""

import pytest

from groundwire.apps.supplier.contracts import GroundingMode, Status, as_json, goals_of
from groundwire.apps.supplier.grounding import ground_trace
from groundwire.testing import Answer, Ask, Fault, FaultKind, ModelFaults
from tests.apps.supplier.stage import REQUEST, agents_saying, bot, supplier

HISTORY = (bot("您好，请问起订量？"), supplier("印logo的话最少200个起"))
MOQ = Ask("log_data", {"goalId": "moq", "value": "200", "supplierQuote": "最少200个起"})


async def turn_of(*answers, history=HISTORY, **options):
    agents = agents_saying(*answers, **options)
    return await agents.call_bot(REQUEST, goals_of(REQUEST), history, ())


@pytest.mark.requirement("A-003", "A-006", "A-014", "A-025", "A-147")
async def test_the_bot_replies_and_its_calls_are_the_trace():
    turn = await turn_of(Answer("", (MOQ,)), "收到，请问单价多少？")
    assert turn.reply == "收到，请问单价多少？"
    (entry,) = as_json(turn.trace)
    assert entry.pop("callId")
    assert entry == {
        "turn": 2,
        "name": "log_data",
        "args": {"goalId": "moq", "value": "200", "supplierQuote": "最少200个起"},
    }


@pytest.mark.requirement("A-161", "X-16")
async def test_a_call_without_what_it_needs_stays_in_the_trace_with_nulls_and_is_not_valid():
    broken = Ask("log_data", {"goalId": "moq", "supplierQuote": "最少200个起"})
    turn = await turn_of(Answer("", (broken,)), "收到")
    (entry,) = turn.trace
    assert entry.args == {"goalId": "moq", "value": None, "supplierQuote": "最少200个起"}
    assert not entry.valid
    assert "value" in entry.error


@pytest.mark.requirement("X-16")
async def test_a_call_whose_arguments_are_no_json_stays_in_the_trace_with_nulls():
    turn = await turn_of(Answer("", (Ask("log_data", raw='{"goalId": '),)), "收到")
    (entry,) = turn.trace
    assert entry.args == {"goalId": None, "value": None, "supplierQuote": None}
    assert not entry.valid


@pytest.mark.requirement("A-102")
async def test_an_ungrounded_call_is_refused_to_the_model_which_may_correct_it():
    wrong = Ask("log_data", {"goalId": "moq", "value": "200", "supplierQuote": "起订量200"})
    turn = await turn_of(Answer("", (wrong,)), Answer("", (MOQ,)), "收到")
    assert [entry.args["supplierQuote"] for entry in turn.trace] == ["起订量200", "最少200个起"]
    kept = ground_trace(turn.trace, HISTORY, GroundingMode.STRICT)
    assert [entry.args["supplierQuote"] for entry in kept] == ["最少200个起"]


@pytest.mark.requirement("A-048", "A-023")
async def test_media_is_acknowledged_by_its_token_with_the_caption():
    history = (bot("在吗"), supplier("[图片] 产品图和包装图"))
    args = {"mediaType": "image", "description": "产品图", "supplierQuote": "[图片] 产品图和包装图"}
    turn = await turn_of(Answer("", (Ask("acknowledge_media", args),)), "收到", history=history)
    (kept,) = ground_trace(turn.trace, history, GroundingMode.STRICT)
    assert (kept.args, kept.valid, kept.grounding.grounded) == (args, True, True)


async def test_the_same_call_made_twice_in_a_turn_is_one_capture():
    turn = await turn_of(Answer("", (MOQ, Ask("log_data", MOQ.arguments))), "收到")
    assert len(turn.trace) == 1


async def test_the_bot_is_offered_its_own_tools_only_and_no_other_can_be_called_by_a_guessed_name():
    seen = []

    def answer(request):
        seen.append(sorted(tool.name for tool in request.tools))
        guessed = Ask("flag_escalation", {"reason": "x", "supplierQuote": "最少200个起"}, offered=False)
        return Answer("", (guessed,)) if len(seen) == 1 else Answer("收到")

    turn = await turn_of(otherwise=answer)
    assert seen[0] == ["acknowledge_media", "log_data", "note_blocker", "note_file_request"]
    assert [(entry.name, entry.valid) for entry in turn.trace] == [("flag_escalation", False)]


@pytest.mark.requirement("A-088", "A-089", "A-085")
async def test_the_bot_asks_for_4000_tokens_at_temperature_a_tenth():
    seen = []

    def answer(request):
        seen.append(request)
        return Answer("收到")

    await turn_of(otherwise=answer)
    (request,) = seen
    assert (request.max_output_tokens, request.sampling.temperature) == (4000, 0.1)
    assert "帆布手提袋" in request.instructions[0].text
    assert "印logo" in request.instructions[0].text


@pytest.mark.requirement("A-165")
async def test_a_model_that_cannot_be_reached_leaves_no_half_reply():
    turn = await turn_of("收到", faults=ModelFaults(at={0: Fault(kind=FaultKind.STATUS, status=503)}))
    assert turn.reply == ""
    assert turn.failure.startswith("provider_error")


@pytest.mark.requirement("A-166")
async def test_thoughts_in_the_middle_of_a_reply_never_reach_the_supplier():
    assert (await turn_of("收到<think>压价</think>，谢谢")).reply == "收到，谢谢"


@pytest.mark.requirement("A-004", "A-012", "A-055")
async def test_the_summary_agent_reads_the_conversation_and_calls_its_own_tools():
    agents = agents_saying(
        Answer("", (Ask("extract_timing", {"goalId": "customization", "supplierQuote": "明天给你准信"}),)),
        "等明天的答复。",
    )
    history = (*HISTORY, bot("好的"), supplier("压字要问师傅，明天给你准信"))
    summary = await agents.call_summary(REQUEST, goals_of(REQUEST), history, (), Status.COMPLETED)
    assert summary.text == "等明天的答复。"
    assert [(entry.name, entry.valid) for entry in summary.trace] == [("extract_timing", True)]


async def test_what_we_tell_the_summary_agent_is_no_evidence():
    quoting = Ask("emit_signal", {"signalType": "manual_review", "reason": "x", "supplierQuote": "对话到此结束"})
    seen = []

    def answer(request):
        seen.append(request.items[-1])
        return Answer("", (quoting,)) if len(seen) == 1 else Answer("好")

    agents = agents_saying(otherwise=answer)
    await agents.call_summary(REQUEST, goals_of(REQUEST), HISTORY, (), Status.COMPLETED)
    assert seen[1].failed
    assert "UNGROUNDED" in seen[1].text
