"""The bot's part: first the captures, one call for each thing that was said, then a reply of a sentence or two."""

import re

from groundwire.apps.supplier.contracts import JsonObject
from groundwire.apps.supplier.negotiator.briefs import Brief
from groundwire.apps.supplier.reading import asked_goals, read_message
from groundwire.testing import Answer, Ask

MAX_QUESTIONS = 2
_TOPICS = {
    "availability": "现货数量",
    "moq": "起订量",
    "unit_price": "单价",
    "lead_time": "交期",
    "sample": "样品费和打样时间",
    "packaging": "包装方式",
    "payment": "付款方式",
}
_LEAVING = re.compile(r"停产|不做了|不接(?:定制|小)?单|找别家|问问?别家|问问?其他|不卖")
_PROMISE = re.compile(r"(?:明|后)[天日]|下周|晚点|稍后|等[会我]|问(?:下|一下)?(?:师傅|老板)")
_PUSHING = re.compile(r"换到平台外|不留任何联系方式")
_TOKENS = re.compile(r"只是标记|看不到内容")
_NUDGE = "跟进"


def answer_supplier(brief: Brief) -> Answer:
    if brief.aside or _NUDGE in brief.situation:
        return Answer(_nudge(brief))
    captures = read_message(brief.last, brief.context(asked_goals(brief.question)))
    if captures and not brief.calls:
        return Answer(calls=tuple(Ask(capture.tool, capture.args) for capture in captures))
    return Answer(_reply(brief))


def _nudge(brief: Brief) -> str:
    times = sum(1 for entry in brief.history if entry.role == "bot")
    if times > 1:
        return f"您好，再打扰一下，{brief.item}方便的时候回复我就行，谢谢。"
    return f"您好，请问之前问的{brief.item}方便回复一下吗？"


def _reply(brief: Brief) -> str:
    if _PUSHING.search(brief.situation):
        return f"谢谢理解，我们公司要求在平台上沟通，方便留底。{_questions(brief) or '麻烦就在这里说一下。'}"
    if _LEAVING.search(brief.last):
        return "好的，打扰了，谢谢您。"
    begin = _acknowledged(brief)
    if _PROMISE.search(brief.last) and not brief.calls:
        return f"{begin}那等您的消息，谢谢。"
    return begin + (_questions(brief) or "我记下了，确认后再联系您，谢谢。")


def _acknowledged(brief: Brief) -> str:
    """A word on what came, before anything else is asked."""
    if _TOKENS.search(brief.situation):
        what = "文件" if "[文件]" in brief.last else "图片"
        return f"{what}收到了，不过我这边只看到标记，看不到内容，麻烦用文字说明一下。"
    for name, args in brief.calls:
        if name == "note_blocker":
            return "理解。"
        if name == "note_file_request":
            return _promised_file(args)
    return "好的，收到。" if brief.calls else "好的。"


def _promised_file(args: JsonObject) -> str:
    if args.get("urgency") == "blocking_quote":
        return "明白，文件我让同事准备好发您。"
    return "好的，需要的话我再发您。"


def _questions(brief: Brief) -> str:
    """For what is still open, two things at most."""
    settled = {about for _, about in brief.known}
    settled |= {str(args.get("goalId")) for _, args in brief.calls}
    still = [goal for goal in brief.goals if goal not in settled][:MAX_QUESTIONS]
    topics = [_TOPICS.get(goal, goal) for goal in still if goal != "customization"]
    asked = [f"请问{'和'.join(topics)}是多少？"] if topics else []
    if "customization" in still:
        asked.append(f"{brief.want or '定制'}能做吗？")
    return "".join(asked)
