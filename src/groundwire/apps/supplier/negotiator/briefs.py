"""What a request says to whoever has to answer it: the task, what is known already, and who said what.

The prompts are ours, so they are read by their headings; a request without them is an empty brief, and no error.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass

from groundwire import CallItem, Message, ModelRequest
from groundwire.apps.supplier.contracts import HistoryEntry, JsonObject, Status
from groundwire.apps.supplier.reading import ReadingContext

_HEADING = re.compile(r"^# (.+)$", re.MULTILINE)
_FACT = re.compile(r"^- (商品|数量|定制要求|事项)：(.*)$", re.MULTILINE)
_GOAL = re.compile(r"^- (?:事项：- )?([a-z][a-z0-9_]*)(?:：.*)?$", re.MULTILINE)
_KNOWN = re.compile(r"^- (\w+) (\w+): ", re.MULTILINE)
_STATUS = re.compile(r"结束状态是 (\w+)")
_ASIDE = re.compile(r"^（[^）]*）$")
_DIGITS = 12


@dataclass(frozen=True, kw_only=True)
class Brief:
    """`calls` are those that were made since the supplier spoke. `aside` is what was said to us in the supplier's place."""

    item: str
    qty: int
    want: str
    goals: tuple[str, ...]
    known: tuple[tuple[str, str], ...]
    """Tool, and the goal or kind that it was about."""
    situation: str
    status: Status | None
    history: tuple[HistoryEntry, ...]
    calls: tuple[tuple[str, JsonObject], ...]
    aside: str

    @property
    def last(self) -> str:
        return self.history[-1].content if self.history and self.history[-1].role == "supplier" else ""

    @property
    def question(self) -> str:
        """What we said last."""
        return next((entry.content for entry in reversed(self.history) if entry.role == "bot"), "")

    def context(self, asked: tuple[str, ...]) -> ReadingContext:
        return ReadingContext(item=self.item, qty=self.qty, want=self.want, asked=asked)


def read_brief(request: ModelRequest) -> Brief:
    said = [item for item in request.items if isinstance(item, Message)]
    told = [part.text for part in request.instructions] + [one.text for one in said if one.role in _ORDERS]
    prompt = "\n".join(told)
    sections = _sections(prompt)
    facts = dict(_FACT.findall(prompt))
    spoken = [one for one in said if one.role not in _ORDERS]
    aside = spoken.pop().text if spoken and spoken[-1].role == "user" and _ASIDE.match(spoken[-1].text) else ""
    status = _STATUS.search(prompt)
    quantity = facts.get("数量", "")
    return Brief(
        item=facts.get("商品", ""),
        qty=int(quantity) if quantity.isdecimal() and len(quantity) <= _DIGITS else 0,
        want=facts.get("定制要求", "").removeprefix("无"),
        goals=tuple(_GOAL.findall(sections.get("要问清楚的事项", ""))),
        known=tuple(_KNOWN.findall(sections.get("已经记录的事项", ""))),
        situation=sections.get("当前情况", ""),
        status=Status(status[1]) if status and status[1] in set(Status) else None,
        history=tuple(
            HistoryEntry(role="supplier" if one.role == "user" else "bot", content=one.text) for one in spoken
        ),
        calls=tuple(
            (item.call.name, _arguments(item.call.raw)) for item in request.items if isinstance(item, CallItem)
        ),
        aside=aside,
    )


_ORDERS = frozenset({"system", "developer"})


def _sections(prompt: str) -> Mapping[str, str]:
    parts = _HEADING.split(prompt)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def _arguments(raw: str) -> JsonObject:
    try:
        given = json.loads(raw)
    except (ValueError, RecursionError):
        return {}
    return given if isinstance(given, dict) else {}
