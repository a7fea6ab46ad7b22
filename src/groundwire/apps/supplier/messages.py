"""What kind of thing a supplier's message is: a person's words, a machine's, a voice, a picture, or gone again.

It does not know what the words say about goods.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import MAXYEAR, MINYEAR, UTC, datetime
from enum import StrEnum
from typing import Literal, TypeAlias

from groundwire.apps.supplier.contracts import HistoryEntry

AT_ONCE_SECONDS = 2.0
"""Nobody reads and answers faster than this."""
SHORTEST_REPEAT = 5
"""People do say 好的 twice: shorter words may be repeated."""

TokenName: TypeAlias = Literal[
    "图片", "视频", "文件", "语音", "语音消息", "表情", "动画表情", "位置", "商品卡片", "链接", "名片", "撤回了一条消息"
]
_TOKEN = re.compile(
    r"[\[【](?P<name>图片|视频|文件|语音消息|语音|动画表情|表情|位置|商品卡片|链接|名片|撤回了一条消息)[\]】](?:\s?[xX×](?P<count>[0-9]{1,3}))?"
)
_MEDIA: dict[str, Literal["image", "file"]] = {"图片": "image", "视频": "file", "文件": "file"}
_CANNED = re.compile(
    r"[\[【(（]\s?(?:自动回复|系统消息|系统通知)\s?[\]】)）]|^\s*(?:自动回复|系统消息)(?:[：:，,\s]|$)|欢迎光临|客服正在(?:赶来|飞奔|路上|火速)"
    r"|请稍等[，,\s]{0,2}(?:我们?|客服)?(?:会)?马上(?:为您)?回复|工作时间[为：:]|咨询人数较多|(?:机器人|智能)客服|您的消息已收到"
    r"|客服[^，。！？\n]{0,6}不在|请(?:您|在此)?留言|(?:上班|上线)[^，。！？\n]{0,4}第一时间"
)


class MessageKind(StrEnum):
    TEXT = "text"
    MEDIA = "media"
    VOICE = "voice"
    RECALLED = "recalled"
    CANNED = "canned"


@dataclass(frozen=True, kw_only=True)
class MediaToken:
    """What the chat put in place of a picture or the like, with the words after it. `media_type` is None for what no
    tool acknowledges."""

    name: str
    media_type: Literal["image", "file"] | None
    count: int
    caption: str
    start: int
    end: int
    """The end of the caption."""


@dataclass(frozen=True, kw_only=True)
class MessageClass:
    """`human`: a person was there, so the supplier is not silent. `readable`: its words may become facts."""

    kind: MessageKind
    why: str
    human: bool
    readable: bool
    media: tuple[MediaToken, ...] = ()


def media_tokens(text: str) -> tuple[MediaToken, ...]:
    """One for each token; equal ones side by side, without words between, are one with a count."""
    found: list[MediaToken] = []
    matches = list(_TOKEN.finditer(text))
    for place, match in enumerate(matches):
        limit = matches[place + 1].start() if place + 1 < len(matches) else len(text)
        words = text[match.end() : limit]
        caption = words.strip()
        end = match.end() + len(words.rstrip()) if caption else match.end()
        token = MediaToken(
            name=match["name"],
            media_type=_MEDIA.get(match["name"]),
            count=int(match["count"] or 1),
            caption=caption,
            start=match.start(),
            end=end,
        )
        last = found[-1] if found else None
        if last and last.name == token.name and not last.caption:
            found[-1] = MediaToken(
                name=token.name,
                media_type=token.media_type,
                count=last.count + token.count,
                caption=caption,
                start=last.start,
                end=end,
            )
        else:
            found.append(token)
    return tuple(found)


def token_spans(text: str) -> tuple[tuple[int, int], ...]:
    """Where tokens are, without their captions."""
    return tuple(match.span() for match in _TOKEN.finditer(text))


def is_canned_text(text: str) -> bool:
    """Whether the words alone give a machine away."""
    return _CANNED.search(text) is not None


def classify_message(history: Sequence[HistoryEntry], index: int) -> MessageClass:
    """Judge a supplier's message by its words, by what this supplier wrote before, and by how fast it came."""
    text = history[index].content
    tokens = media_tokens(text)
    names = {token.name for token in tokens}
    if canned := _why_canned(history, index, tokens):
        return MessageClass(kind=MessageKind.CANNED, why=canned, human=False, readable=False, media=tokens)
    if "撤回了一条消息" in names or text.strip().endswith("撤回了一条消息"):
        return MessageClass(kind=MessageKind.RECALLED, why="token", human=True, readable=False, media=tokens)
    if names & {"语音", "语音消息"}:
        return MessageClass(kind=MessageKind.VOICE, why="token", human=True, readable=False, media=tokens)
    if tokens:
        return MessageClass(kind=MessageKind.MEDIA, why="token", human=True, readable=True, media=tokens)
    return MessageClass(kind=MessageKind.TEXT, why="", human=True, readable=True)


def is_human(history: Sequence[HistoryEntry], index: int) -> bool:
    return history[index].role == "supplier" and classify_message(history, index).human


def _why_canned(history: Sequence[HistoryEntry], index: int, tokens: Sequence[MediaToken]) -> str:
    text = history[index].content
    if is_canned_text(text):
        return "marker"
    words = bool(text.strip()) and not (tokens and all(not token.caption for token in tokens))
    if words and len(text) >= SHORTEST_REPEAT:
        earlier = (entry.content for entry in history[:index] if entry.role == "supplier")
        if any(text == before for before in earlier):
            return "repeat"
    waited = _seconds_after_ours(history, index)
    if waited is not None and 0 <= waited < AT_ONCE_SECONDS:
        return "at_once"
    return ""


def _seconds_after_ours(history: Sequence[HistoryEntry], index: int) -> float | None:
    ours = next((entry for entry in reversed(history[:index]) if entry.role == "bot"), None)
    asked, answered = parse_time(ours.timestamp) if ours else None, parse_time(history[index].timestamp)
    return (answered - asked).total_seconds() if asked and answered else None


def parse_time(timestamp: str) -> datetime | None:
    """None for what is missing, no time, of no known zone, or so far away that no calendar reaches it."""
    try:
        given = datetime.fromisoformat(timestamp)
        moment = given.astimezone(UTC) if given.tzinfo else None
    except (ValueError, OverflowError):
        return None
    return moment if moment and MINYEAR < moment.year < MAXYEAR else None


def time_of(history: Sequence[HistoryEntry], index: int) -> datetime | None:
    """When a message was said: by its own timestamp, else by that of the next one that has one."""
    return next((moment for entry in history[index:] if (moment := parse_time(entry.timestamp))), None)
