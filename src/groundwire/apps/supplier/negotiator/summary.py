"""The summary agent's part: the conversation is read once more, and what somebody has to act on becomes a call."""

from collections.abc import Iterator
from datetime import datetime

from groundwire.apps.supplier.contracts import JsonObject, Status
from groundwire.apps.supplier.media import is_unread_voice
from groundwire.apps.supplier.messages import is_human
from groundwire.apps.supplier.negotiator.briefs import Brief
from groundwire.apps.supplier.reading import Capture, asked_goals, read_message
from groundwire.apps.supplier.reading.channels import find_invitation
from groundwire.apps.supplier.reading.refusals import find_refusal
from groundwire.apps.supplier.timing import read_timing
from groundwire.testing import Answer, Ask

SOME_DAY = datetime.fromisoformat("2026-03-11T10:00:00+08:00")
"""Whether words name a time does not depend on the day; when that is, the calendar says later."""
_LIVE_HOURS = 2.0
"""Who says 马上 is still there: so short a time is no appointment."""
_ENDINGS = {
    Status.COMPLETED: "对话已完成",
    Status.NO_REPLY: "对方一直没有真人回复",
    Status.REJECTED: "对方拒绝了这次询价",
    Status.WECHAT_REDIRECT: "对方坚持换到别的渠道",
}


def sum_up(brief: Brief) -> Answer:
    signals = () if brief.calls else tuple(_signals(brief))
    return Answer(calls=signals) if signals else Answer(_told(brief))


def _signals(brief: Brief) -> Iterator[Ask]:
    quote = _decisive_words(brief)
    if brief.status is Status.WECHAT_REDIRECT and quote:
        told: JsonObject = {"signalType": "wechat_redirect", "reason": "对方要求换到别的渠道。"}
        yield Ask("emit_signal", {**told, "supplierQuote": quote})
        return
    if brief.status is Status.REJECTED and quote:
        yield Ask("flag_escalation", {"reason": "对方整体拒绝，需要人来决定。", "supplierQuote": quote})
        return
    yield from _obstacles(brief)
    yield from _appointments(brief)
    for place, entry in enumerate(brief.history):
        if is_unread_voice(brief.history, place):
            told = {"signalType": "manual_review", "reason": "有一条语音没有听到，需要人工听取。"}
            yield Ask("emit_signal", {**told, "supplierQuote": entry.content})


def _decisive_words(brief: Brief) -> str:
    """What the supplier said first about leaving: the platform, or altogether."""
    find = find_invitation if brief.status is Status.WECHAT_REDIRECT else find_refusal
    for place, entry in enumerate(brief.history):
        if is_human(brief.history, place) and (span := find(entry.content)):
            return entry.content[slice(*span)]
    return ""


def _obstacles(brief: Brief) -> Iterator[Ask]:
    for capture in _captures(brief):
        if capture.tool == "note_blocker":
            yield Ask(
                "flag_escalation",
                {
                    "goalId": capture.goal_id,
                    "blockerType": str(capture.blocker_type),
                    "reason": f"{capture.reason}，需要买家决定。",
                    "supplierQuote": capture.quote,
                },
            )
        elif capture.urgency == "blocking_quote":
            told: JsonObject = {"signalType": "asset_request", "reason": "没有文件对方报不了价。"}
            about: JsonObject = {"goalId": "customization"} if brief.want else {}
            yield Ask("emit_signal", {**told, **about, "supplierQuote": capture.quote})


def _appointments(brief: Brief) -> Iterator[Ask]:
    """The last time that somebody named; where nobody came at all, simply that."""
    found: Ask | None = None
    for place, entry in enumerate(brief.history):
        reading = read_timing(entry.content, SOME_DAY) if entry.role == "supplier" else None
        if reading is None or reading.timing is None:
            continue
        if reading.timing.delay_hours >= _LIVE_HOURS or not is_human(brief.history, place):
            found = Ask("extract_timing", {"supplierQuote": entry.content[reading.start : reading.end]})
    if found is not None:
        yield found
    elif brief.status is Status.NO_REPLY:
        yield Ask("extract_timing", {"delayHours": 24, "confidence": "low"})


def _captures(brief: Brief) -> Iterator[Capture]:
    """What people said, each thing once."""
    seen: set[tuple[str | None, ...]] = set()
    asked: tuple[str, ...] = ()
    for place, entry in enumerate(brief.history):
        if entry.role == "bot":
            asked = asked_goals(entry.content)
        elif is_human(brief.history, place):
            for capture in read_message(entry.content, brief.context(asked)):
                # A file that would be nice may become one that nobody can quote without, and a price may fall.
                kind = capture.tool, capture.goal_id, capture.value, capture.asset_type, capture.urgency
                if kind not in seen:
                    seen.add(kind)
                    yield capture


def _told(brief: Brief) -> str:
    facts = [f"{capture.goal_id} {capture.value}" for capture in _captures(brief) if capture.tool == "log_data"]
    ending = _ENDINGS.get(brief.status, "对话结束") if brief.status is not None else "对话结束"
    return f"{ending}。" + (f"已记录：{'，'.join(facts)}。" if facts else "没有记录到事实。")
