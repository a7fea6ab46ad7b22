"""A model that says what it was told to say: for tests, for trying things out offline, and behind the simulator.

It keeps no state. How far a script has come is read from the conversation, so any process gives the same answer:

    model = ScriptedModel(
        Answer(calls=(Ask("get_weather", {"city": "Tokyo"}),)),
        Answer("It is sunny in Tokyo."),
    )
"""

import re
from collections.abc import AsyncIterator, Callable, Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from groundwire.codecs.wire.building import parts_of
from groundwire.codecs.wire.ids import OPENAI_CHAT_IDS, derived_id
from groundwire.codecs.wire.json import dump_text
from groundwire.contracts.calls import ToolCall
from groundwire.contracts.canonical import JsonObject
from groundwire.contracts.errors import ProviderError
from groundwire.contracts.failures import Failure
from groundwire.contracts.messages import (
    CallItem,
    Item,
    Message,
    NativeItem,
    ReasoningItem,
    RefusalPart,
    ResultItem,
    TextPart,
)
from groundwire.contracts.replies import Finish, FinishReason, Reply, ReplyPart, Usage, WireWarning
from groundwire.contracts.requests import ModelRequest, SendOptions
from groundwire.providers.choosing import choose_answer

ORIGIN = "scripted"
_NO_OPTIONS = SendOptions()


class Ask(Struct, frozen=True, forbid_unknown_fields=True):
    """A call that the model makes. `raw` is for argument texts that no object can spell, such as broken JSON."""

    name: str
    arguments: JsonObject = field(default_factory=dict)
    call_id: str = ""
    raw: str | None = None


class Answer(Struct, frozen=True, forbid_unknown_fields=True):
    """One answer of the model: what it says, thinks and calls, and how it ends. `failure` instead of all that.

    `go_away`: before this answer, a live connection announces that it will close in so many seconds.
    """

    text: str = ""
    calls: tuple[Ask, ...] = ()
    reasoning: str = ""
    refusal: str = ""
    finish: FinishReason | None = None
    failure: Failure | None = None
    go_away: float | None = None


class Rule(Struct, frozen=True, forbid_unknown_fields=True):
    """An answer for a last message (the user's, or a tool's result) that the pattern is found in."""

    pattern: str
    answer: Answer | str


class ScriptedModel:
    """Rules come first, then the script's answers in their order, then `otherwise`.

    Without `otherwise`, a model that has nothing left to say chooses a tool by the words of the last message, or
    repeats what it knows.
    """

    def __init__(
        self,
        *answers: Answer | str,
        rules: Sequence[Rule] = (),
        otherwise: Callable[[ModelRequest], Answer] | None = None,
    ) -> None:
        self._answers = tuple(map(_answer, answers))
        self._rules = tuple((re.compile(rule.pattern, re.IGNORECASE), _answer(rule.answer)) for rule in rules)
        self._otherwise = otherwise or _choose

    def answer(self, request: ModelRequest) -> Answer:
        last = last_said(request.items)
        for pattern, answer in self._rules:
            if pattern.search(last):
                return answer
        step = steps_taken(request.items)
        return self._answers[step] if step < len(self._answers) else self._otherwise(request)

    def reply(self, request: ModelRequest) -> Reply:
        """The answer as a provider would give it, or its failure raised."""
        answer = self.answer(request)
        if answer.failure is not None:
            raise ProviderError(answer.failure)
        return to_reply(answer, request)


class ScriptedProvider:
    """A scripted model where a provider is wanted, without any network."""

    def __init__(self, model: ScriptedModel, *, piece: int = 12, warnings: tuple[WireWarning, ...] = ()) -> None:
        self._model = model
        self._piece = piece
        self._warnings = warnings

    async def complete(self, request: ModelRequest, options: SendOptions = _NO_OPTIONS) -> Reply:
        return replace(self._model.reply(request), warnings=self._warnings)

    async def stream(self, request: ModelRequest, options: SendOptions = _NO_OPTIONS) -> AsyncIterator[ReplyPart]:
        for part in parts_of(await self.complete(request, options), piece=self._piece):
            yield part

    async def close(self) -> None:
        return None


def _answer(value: Answer | str) -> Answer:
    return Answer(value) if isinstance(value, str) else value


def steps_taken(items: Sequence[Item]) -> int:
    """How often the model has answered so far: runs of its items, and every message that stands for itself."""
    steps = 0
    inside = False
    for item in items:
        own = isinstance(item, (CallItem, ReasoningItem, NativeItem)) or (
            isinstance(item, Message) and item.role == "assistant"
        )
        if own and (not inside or item.split):
            steps += 1
        inside = own
    return steps


def last_said(items: Sequence[Item]) -> str:
    """The text of the last message of a user or result of a tool."""
    for item in reversed(items):
        if isinstance(item, ResultItem) or (isinstance(item, Message) and item.role == "user"):
            return item.text
    return ""


def to_reply(answer: Answer, request: ModelRequest) -> Reply:
    seed = f"{request.model}:{len(request.items)}:{last_said(request.items)}"
    items: list[Item] = []
    if answer.reasoning:
        items.append(ReasoningItem(text=answer.reasoning))
    if answer.text:
        items.append(Message(role="assistant", parts=(TextPart(text=answer.text),)))
    if answer.refusal:
        items.append(Message(role="assistant", parts=(RefusalPart(text=answer.refusal),)))
    items.extend(_call(ask, f"{seed}:{index}") for index, ask in enumerate(answer.calls))
    reason = answer.finish or (FinishReason.TOOL_CALLS if answer.calls else FinishReason.END)
    spoken = sum(len(item.text) for item in items if isinstance(item, (Message, ReasoningItem)))
    written = spoken + sum(len(item.call.raw) for item in items if isinstance(item, CallItem))
    heard = sum(len(item.text) for item in request.items if isinstance(item, (Message, ResultItem)))
    usage = Usage(input=heard // 4 + 1, output=written // 4 + 1, total=heard // 4 + written // 4 + 2)
    reply_id = derived_id(f"{seed}:reply", OPENAI_CHAT_IDS).replace("call_", "reply_")
    return Reply(
        reply_id=reply_id, model=request.model, created=0, items=tuple(items), finish=Finish(reason=reason), usage=usage
    )


def _call(ask: Ask, seed: str) -> CallItem:
    call_id = ask.call_id or derived_id(seed, OPENAI_CHAT_IDS)
    if ask.raw is not None:
        return CallItem(call=ToolCall(call_id=call_id, name=ask.name, raw=ask.raw, origin=ORIGIN))
    raw = dump_text(ask.arguments)
    return CallItem(call=ToolCall(call_id=call_id, name=ask.name, raw=raw, arguments=ask.arguments, origin=ORIGIN))


def _choose(request: ModelRequest) -> Answer:
    text, call = choose_answer(request)
    return Answer(text, (Ask(*call),) if call else ())
