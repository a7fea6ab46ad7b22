"""The negotiator as a model: it reads the request, captures what was said, and answers like a buyer."""

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from groundwire import CallItem, Message, ModelRequest, ResultItem, Settings, TextPart, ToolCall, open_models
from groundwire.apps.supplier.agents import BOT_TOOLS, SUMMARY_TOOLS
from groundwire.apps.supplier.contracts import HistoryEntry, SourcingRequest, Status, TraceEntry, goals_of
from groundwire.apps.supplier.conversing import describe, to_items
from groundwire.apps.supplier.negotiator import negotiate
from groundwire.apps.supplier.negotiator.briefs import read_brief
from groundwire.apps.supplier.prompts import read_prompt
from groundwire.assembly import SimulatorSettings, load_settings
from groundwire.contracts.errors import ConfigError
from groundwire.contracts.requests import FunctionTool

REQUEST = SourcingRequest(session_id="s-1", item="帆布手提袋", qty=50, want="印logo")
OPENING = "您好，请问起订量、单价和交期是多少？"


def tools(names):
    return tuple(FunctionTool(name=name, description="", parameters={"type": "object"}) for name in names)


def said(*lines):
    """Ours and theirs in turn."""
    return tuple(
        HistoryEntry(role="supplier" if place % 2 else "bot", content=line) for place, line in enumerate(lines)
    )


def bot_request(*lines, known=(), situation="", done=(), request=REQUEST):
    about = f"\n# 当前情况\n{situation}" if situation else ""
    prompt = read_prompt("bot").fill(**describe(request, goals_of(request), known), situation=about)
    items = [*to_items(said(*lines))]
    for name, args in done:
        items.append(CallItem(call=ToolCall(call_id=name, name=name, raw=args, origin="x")))
        items.append(ResultItem(call_id=name, parts=(TextPart(text="{}"),)))
    return ModelRequest(
        model="rules", instructions=(TextPart(text=prompt),), items=tuple(items), tools=tools(BOT_TOOLS)
    )


def summary_request(status, *lines, request=REQUEST):
    prompt = read_prompt("summary").fill(**describe(request, goals_of(request), ()), status=status.value)
    aside = Message(role="user", parts=(TextPart(text="（对话到此结束。请按规则发出信号，然后总结。）"),))
    return ModelRequest(
        model="rules",
        instructions=(TextPart(text=prompt),),
        items=(*to_items(said(*lines)), aside),
        tools=tools(SUMMARY_TOOLS),
    )


def captured(goal_id):
    return TraceEntry(turn=2, name="log_data", args={"goalId": goal_id, "value": "1", "supplierQuote": "1"})


def test_what_a_supplier_says_becomes_calls_with_exact_quotes():
    answer = negotiate(bot_request(OPENING, "30个起做，单价28"))
    assert [(ask.name, ask.arguments) for ask in answer.calls] == [
        ("log_data", {"goalId": "moq", "value": "30", "supplierQuote": "30个起做"}),
        ("log_data", {"goalId": "unit_price", "value": "28", "supplierQuote": "单价28"}),
    ]
    assert answer.text == ""


def test_after_its_calls_it_asks_for_what_is_open_two_things_at_most():
    done = [("log_data", '{"goalId": "moq", "value": "30", "supplierQuote": "30个起做"}')]
    answer = negotiate(bot_request(OPENING, "30个起做", done=done))
    assert (answer.calls, answer.text) == ((), "好的，收到。请问单价和交期是多少？")


def test_what_earlier_turns_captured_is_not_asked_again():
    known = [captured("moq"), captured("unit_price"), captured("lead_time")]
    assert negotiate(bot_request(OPENING, "在的", known=known)).text == "好的。印logo能做吗？"


def test_when_nothing_is_open_it_thanks_and_closes():
    request = SourcingRequest(session_id="s", item="纸箱", qty=5)
    known = [captured("moq"), captured("unit_price"), captured("lead_time")]
    assert (
        negotiate(bot_request(OPENING, "在的", known=known, request=request)).text
        == "好的。我记下了，确认后再联系您，谢谢。"
    )


def test_a_picture_is_admitted_as_a_token():
    done = [("acknowledge_media", '{"mediaType": "image", "description": "图片", "supplierQuote": "[图片]"}')]
    answer = negotiate(bot_request(OPENING, "[图片]", situation="只是标记，你看不到内容。", done=done))
    assert answer.text.startswith("图片收到了，不过我这边只看到标记，看不到内容")


def test_another_channel_is_declined_without_a_contact():
    situation = "对方要求换到平台外的渠道。礼貌说明我们只在平台上沟通，不留任何联系方式，然后继续问没问完的事项。"
    answer = negotiate(bot_request(OPENING, "加个微信详聊吧", situation=situation))
    assert answer.text.startswith("谢谢理解，我们公司要求在平台上沟通")


def test_a_refusal_is_taken_with_good_grace():
    done = [("log_data", '{"goalId": "availability", "value": "discontinued", "supplierQuote": "停产了"}')]
    assert negotiate(bot_request(OPENING, "这款停产了", done=done)).text == "好的，打扰了，谢谢您。"


def test_a_nudge_names_the_goods_and_the_second_one_is_another():
    def nudge(*lines):
        request = bot_request(*lines, situation="跟进原因：对方还没有回复")
        aside = Message(role="user", parts=(TextPart(text="（供应商还没有新消息，现在到了跟进的时间。）"),))
        return negotiate(msgspec.structs.replace(request, items=(*request.items, aside))).text

    first = nudge(OPENING)
    assert "帆布手提袋" in first
    assert nudge(OPENING, "", "再问一下") != first


@pytest.mark.parametrize(
    ("status", "lines", "calls"),
    [
        (
            Status.COMPLETED,
            (OPENING, "50个开不了机，印不了的"),
            [("flag_escalation", "customization", "50个开不了机，印不了的")],
        ),
        (Status.COMPLETED, (OPENING, "没有源文件没法核价"), [("emit_signal", "customization", "没有源文件没法核价")]),
        (Status.COMPLETED, (OPENING, "压字要问师傅，明天给你准信"), [("extract_timing", None, "明天给你准信")]),
        (Status.COMPLETED, (OPENING, "付款后三天出货"), []),
        (Status.COMPLETED, (OPENING, "有参考图也可以发来看看"), []),
        (Status.COMPLETED, (OPENING, "[语音消息]"), [("emit_signal", None, "[语音消息]")]),
        (Status.REJECTED, (OPENING, "这款停产了"), [("flag_escalation", None, "这款停产了")]),
        (Status.NO_REPLY, (OPENING,), [("extract_timing", None, None)]),
    ],
)
def test_the_summary_calls_for_what_somebody_must_act_on(status, lines, calls):
    answer = negotiate(summary_request(status, *lines))
    found = [(ask.name, ask.arguments.get("goalId"), ask.arguments.get("supplierQuote")) for ask in answer.calls]
    assert found == calls
    assert bool(answer.text) == (not calls)


def test_the_first_invitation_elsewhere_is_what_the_signal_quotes():
    request = summary_request(
        Status.WECHAT_REDIRECT, OPENING, "加个微信详聊吧", "平台上说吧", "平台消息我不常看，vx上说"
    )
    (ask,) = negotiate(request).calls
    assert ask.arguments["signalType"] == "wechat_redirect"
    assert ask.arguments["supplierQuote"] in "加个微信详聊吧"


def test_a_brief_says_what_the_prompt_says():
    brief = read_brief(bot_request(OPENING, "30个起", known=[captured("moq")], situation="跟进原因：沉默"))
    assert (brief.item, brief.qty, brief.want) == ("帆布手提袋", 50, "印logo")
    assert brief.goals == ("moq", "unit_price", "lead_time", "customization")
    assert brief.known == (("log_data", "moq"),)
    assert brief.situation.strip() == "跟进原因：沉默"
    assert (brief.question, brief.last) == (OPENING, "30个起")


@pytest.mark.parametrize("prompt", ["", "# \n- 数量：many\n- 商品：", "结束状态是 nothing", "# 要问清楚的事项"])
def test_a_request_of_somebody_elses_is_an_empty_brief_and_no_error(prompt):
    request = ModelRequest(model="x", instructions=(TextPart(text=prompt),), tools=tools(BOT_TOOLS))
    brief = read_brief(request)
    assert (brief.qty, brief.goals, brief.status, brief.last) == (0, (), None, "")
    assert negotiate(request).text


_TEXTS = st.lists(
    st.sampled_from(
        [
            "# 要问清楚的事项\n",
            "- moq\n",
            "- 数量：",
            "9" * 5000,
            "结束状态是 rejected",
            "（",
            "）",
            "[图片]",
            "单价6",
            "明天回复",
        ]
    )
    | st.text(max_size=20),
    max_size=8,
).map("".join)


@settings(deadline=None)
@given(_TEXTS, st.lists(st.tuples(st.sampled_from(["user", "assistant", "system"]), _TEXTS), max_size=5))
def test_whatever_it_is_asked_it_answers_and_quotes_only_what_was_said(prompt, lines):
    items = tuple(Message(role=role, parts=(TextPart(text=text),), split=True) for role, text in lines)
    for names in (BOT_TOOLS, SUMMARY_TOOLS):
        request = ModelRequest(model="x", instructions=(TextPart(text=prompt),), items=items, tools=tools(names))
        answer = negotiate(request)
        assert answer.text or answer.calls
        for ask in answer.calls:
            quote = ask.arguments.get("supplierQuote")
            assert quote is None or any(quote in text for role, text in lines if role == "user")


def test_who_offers_none_of_its_tools_is_answered_politely():
    assert negotiate(ModelRequest(model="x")).text == "好的，谢谢。"


async def test_settings_can_name_it_as_the_built_in_models_script(tmp_path):
    file = tmp_path / "groundwire.toml"
    file.write_text('[simulator]\nscript = "groundwire.apps.supplier.negotiator:negotiate"\n')
    models = open_models(load_settings(file, environ={}), environ={})
    reply = await models.complete(bot_request(OPENING, "30个起做"))
    await models.close()
    assert [item.call.name for item in reply.items] == ["log_data"]


@pytest.mark.parametrize("script", ["groundwire.nowhere:negotiate", "groundwire.testing:nothing", "os:sep"])
def test_a_script_that_is_no_function_is_refused(script):
    with pytest.raises(ConfigError) as caught:
        open_models(Settings(simulator=SimulatorSettings(script=script)), environ={})
    assert script in caught.value.message
