"""What a message was found to say, each find as one call of a tool of the bot, and what helps to understand it.

It knows no wording.
"""

import re
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from groundwire.apps.supplier.contracts import BlockerType, JsonObject

ToolName: TypeAlias = Literal["log_data", "note_blocker", "note_file_request", "acknowledge_media"]
AssetType: TypeAlias = Literal["logo", "design", "spec_sheet", "sample_photo", "other"]
Urgency: TypeAlias = Literal["blocking_quote", "nice_to_have"]
MediaType: TypeAlias = Literal["image", "file"]


@dataclass(frozen=True, kw_only=True)
class ReadingContext:
    """What was known before the message came. `asked` are the goals that our last message asked about: they give a
    bare number its meaning."""

    item: str = ""
    qty: int = 0
    want: str = ""
    asked: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Capture:
    """One call of `tool` with `args`. The quote is `message[start:end]`, unchanged.

    `note` says what the value leaves out, and is not part of the call.
    """

    tool: ToolName
    quote: str
    start: int
    end: int
    goal_id: str = ""
    value: str = ""
    note: str = ""
    blocker_type: BlockerType | None = None
    reason: str = ""
    asset_type: AssetType | None = None
    urgency: Urgency | None = None
    media_type: MediaType | None = None
    description: str = ""

    @property
    def args(self) -> JsonObject:
        """The arguments of the call, in the names and order of its schema."""
        match self.tool:
            case "log_data":
                own: JsonObject = {"goalId": self.goal_id, "value": self.value}
            case "note_blocker":
                own = {"goalId": self.goal_id, "blockerType": str(self.blocker_type), "reason": self.reason}
            case "note_file_request":
                own = {"assetType": self.asset_type, "urgency": self.urgency}
            case "acknowledge_media":
                own = {"mediaType": self.media_type, "description": self.description}
        return own | {"supplierQuote": self.quote}


@dataclass(frozen=True, kw_only=True)
class Find:
    """A capture before its words are cut from the message."""

    tool: ToolName
    start: int
    end: int
    details: JsonObject = field(default_factory=dict)


def found_fact(goal_id: str, value: str, start: int, end: int, note: str = "") -> Find:
    return Find(tool="log_data", start=start, end=end, details={"goal_id": goal_id, "value": value, "note": note})


_QUESTIONS = {
    "availability": "现货|有货|在售",
    "moq": "起订|起批|最少|最低.{0,4}(?:个|件|量)|(?i:moq)",
    "unit_price": "价|多少钱|怎么卖",
    "lead_time": "交期|货期|工期|多久|几天|多长时间|什么时候.{0,4}(?:发|出|交)",
    "sample": "样品|打样|拿样|寄样",
    "customization": "定制|印|刻|绣|压字|烫金|工艺|(?i:logo)",
    "packaging": "包装|彩盒|吊牌",
    "payment": "付款|定金|账期|结算",
}
_ASKING = {goal_id: re.compile(words) for goal_id, words in _QUESTIONS.items()}


def asked_goals(question: str) -> tuple[str, ...]:
    """The goals that a message of ours names, for `ReadingContext.asked`."""
    return tuple(goal_id for goal_id, words in _ASKING.items() if words.search(question))
