"""Who plays the supplier: rules that answer from a sheet, or a model that was given it."""

import random
from collections.abc import Callable, Sequence
from typing import Protocol

from groundwire import Agent, Message, Provider, ProviderError, Sampling, TextPart
from groundwire.apps.supplier.contracts import HistoryEntry, SourcingRequest
from groundwire.apps.supplier.playing.sheets import Sheet, Temper
from groundwire.apps.supplier.prompts import read_prompt
from groundwire.apps.supplier.reading import asked_goals
from groundwire.apps.supplier.thinking import strip_thinking

CANNED = "【自动回复】您好，现在是休息时间，上班时间早9点到晚6点，看到马上回您"
MOST_ANSWERS = 2
_TEMPERS = {
    Temper.FRIENDLY: "热情，有问必答。",
    Temper.BRISK: "话少。价格已经是底价，再压价就说老板定的，改不了。",
    Temper.ELSEWHERE: "嫌平台打字慢，聊两句就想加微信，被拒绝一次后还会再提。",
    Temper.AWAY: "只发自动回复，没有真人。",
    Temper.CLOSING: "这款已经停产，请对方问别家。",
}


class Supplier(Protocol):
    async def answer(self, history: Sequence[HistoryEntry]) -> str:
        """The next message; nothing from a supplier who stays silent."""
        ...


class RuledSupplier:
    """Answers what it is asked, two things at a time, in words that vary with the seed."""

    def __init__(self, sheet: Sheet, request: SourcingRequest, seed: int) -> None:
        self._sheet = sheet
        self._request = request
        self._chance = random.Random(f"{seed}:words")  # noqa: S311 - repeatable, protects nothing
        self._told: set[str] = set()

    async def answer(self, history: Sequence[HistoryEntry]) -> str:
        spoken = sum(1 for entry in history if entry.role == "supplier")
        temper = self._sheet.temper
        if temper is Temper.AWAY:
            return CANNED if not spoken else ""
        if temper is Temper.CLOSING:
            return ("不好意思，这款停产了", "您问问别家吧")[spoken] if spoken < 2 else ""
        if temper is Temper.ELSEWHERE and spoken:
            return ("这里打字慢，加个微信详聊吧", "平台消息我不常看，vx上说")[min(spoken - 1, 1)]
        return self._from_sheet(history[-1].content)

    def _from_sheet(self, question: str) -> str:
        asked = [goal for goal in asked_goals(question) if goal in _ANSWERS and goal not in self._told]
        chosen = asked[:MOST_ANSWERS]
        if not chosen:
            return self._chance.choice(("好的，需要再联系", "嗯嗯，有需要再找我", "好的亲"))
        self._told.update(chosen)
        return "，".join(self._chance.choice(_ANSWERS[goal](self._sheet, self._request)) for goal in chosen)


def _custom(sheet: Sheet, request: SourcingRequest) -> Sequence[str]:
    wish = request.want or "定制"
    if request.qty < sheet.custom_moq:
        return (f"{request.qty}个开不了机，{wish}做不了", f"{wish}最低{sheet.custom_moq}个，少了不做")
    return (f"可以{wish}", f"{wish}没问题，能做")


def _price(sheet: Sheet, _request: SourcingRequest) -> Sequence[str]:
    price = f"{sheet.unit_price:g}"
    if sheet.temper is Temper.BRISK:
        return (f"单价{price}，已经是底价",)
    return (f"单价{price}", f"{price}一个，不含税", f"{price}元一个")


_ANSWERS: dict[str, Callable[[Sheet, SourcingRequest], Sequence[str]]] = {
    "availability": lambda _sheet, _request: ("有现货的", "这款现货"),
    "moq": lambda sheet, _request: (f"{sheet.moq}个起", f"最少{sheet.moq}个起订", f"起订量{sheet.moq}个"),
    "unit_price": _price,
    "lead_time": lambda sheet, _request: (f"交期{sheet.lead_days}天", f"下单后{sheet.lead_days}天出货"),
    "sample": lambda sheet, _request: (f"样品费{sheet.sample_fee}", f"打样费{sheet.sample_fee}块"),
    "customization": _custom,
}


class PlayedSupplier:
    """A model in the supplier's place: what the bot says comes to it as a user's words."""

    def __init__(self, model: str, models: Provider, sheet: Sheet, request: SourcingRequest, seed: int) -> None:
        instructions = read_prompt("simulator").fill(sheet=_told(sheet, request), temper=_TEMPERS[sheet.temper])
        self._agent = Agent(
            model, models=models, instructions=instructions, sampling=Sampling(seed=seed), notices=False
        )

    async def answer(self, history: Sequence[HistoryEntry]) -> str:
        items = [
            Message(
                role="user" if entry.role == "bot" else "assistant", parts=(TextPart(text=entry.content),), split=True
            )
            for entry in history
        ]
        result = await self._agent.run(history=items)
        if result.failure is not None:  # it did not choose to be silent
            raise ProviderError(result.failure)
        return strip_thinking(result.text)

    async def close(self) -> None:
        await self._agent.close()


def _told(sheet: Sheet, request: SourcingRequest) -> str:
    wish = f"\n- {request.want}：{sheet.custom_moq}个起才做" if request.want else ""
    return (
        f"- 商品：{request.item}\n- 起订量：{sheet.moq}个\n- 单价：{sheet.unit_price:g}元，不含税\n"
        f"- 交期：下单后{sheet.lead_days}天\n- 样品费：{sheet.sample_fee}元{wish}"
    )
