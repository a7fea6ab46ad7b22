"""A model that says what it was told to say: for tests, for trying things out offline, and behind the simulator.

The model keeps no state. How far a script has come is read from the conversation, so any process gives the same answer:

    model = ScriptedModel(
        Answer(calls=(Ask("get_weather", {"city": "Tokyo"}),)),
        Answer("It is sunny in Tokyo."),
    )
"""

import re
from collections.abc import AsyncGenerator, Callable, Sequence

from msgspec.structs import replace

from groundwire.codecs.wire.building import parts_of
from groundwire.codecs.wire.json import read_object
from groundwire.codecs.wire.pairing import is_models
from groundwire.contracts.errors import ProviderError, WireError
from groundwire.contracts.failures import Failure, FailureKind
from groundwire.contracts.messages import Item
from groundwire.contracts.ports import Clock
from groundwire.contracts.replies import Reply, ReplyEnded, ReplyPart, WireWarning
from groundwire.contracts.requests import FunctionTool, ModelRequest, SendOptions
from groundwire.providers.choosing import choose_answer
from groundwire.providers.composing import last_said, to_reply
from groundwire.providers.failing import unreachable, unreadable
from groundwire.providers.faults import PAGE, Fault, FaultKind, ModelFaults, cut_parts, failure_of, numbered_ids, spoil
from groundwire.providers.scripts import Answer, Ask, Rule
from groundwire.providers.transport import BROKEN, LATE, Timeouts, TransportError

SCRIPT_ERROR = "script_error"
"""The code of a failure that is the script's own."""
_NO_OPTIONS = SendOptions()
_NOT_WIRE = re.compile(r"[^a-zA-Z0-9_-]")


class ScriptedModel:
    """Rules come first, then the script's answers in their order, then `otherwise`.

    Without `otherwise`, a model that has nothing left to say chooses a tool by the words of the last message, or
    repeats what it knows. `faults` is the plan by which asking it goes wrong.
    """

    def __init__(
        self,
        *answers: Answer | str,
        rules: Sequence[Rule] = (),
        otherwise: Callable[[ModelRequest], Answer] | None = None,
        faults: ModelFaults | None = None,
    ) -> None:
        self.faults = faults or ModelFaults()
        self._answers = tuple(map(_answer, answers))
        self._rules = tuple((re.compile(rule.pattern, re.IGNORECASE), _answer(rule.answer)) for rule in rules)
        self._otherwise = otherwise or _choose

    def answer(self, request: ModelRequest) -> Answer:
        """What is said to this request. A mistake in the script is an answer that failed."""
        last = last_said(request.items)
        step = steps_taken(request.items)
        ruled = next((answer for pattern, answer in self._rules if pattern.search(last)), None)
        scripted = self._answers[step] if step < len(self._answers) else None
        return _on_offer(ruled or scripted or self._otherwise(request), request)

    def reply(self, request: ModelRequest) -> Reply:
        """The answer as a provider would give it, or its failure raised."""
        answer = self.answer(request)
        if answer.failure is not None:
            raise ProviderError(answer.failure)
        return to_reply(answer, request)


class ScriptedProvider:
    """A scripted model where a provider is wanted, without any network.

    Faults count the requests from 0, and come out as an HTTP provider would report them after its last attempt: nothing
    is asked again here. Where a fault takes time, it passes on `clock`.
    """

    def __init__(
        self,
        model: ScriptedModel,
        *,
        clock: Clock,
        name: str = "sim",
        piece: int = 12,
        warnings: tuple[WireWarning, ...] = (),
    ) -> None:
        self._model = model
        self._clock = clock
        self._name = name
        self._piece = piece
        self._warnings = warnings
        self._asked = 0

    async def complete(self, request: ModelRequest, options: SendOptions = _NO_OPTIONS) -> Reply:
        async for part in self._parts(request, options):
            if isinstance(part, ReplyEnded):
                return part.reply
        raise self._failed(FailureKind.BAD_RESPONSE, BROKEN)

    async def stream(self, request: ModelRequest, options: SendOptions = _NO_OPTIONS) -> AsyncGenerator[ReplyPart]:
        async for part in self._parts(request, options):
            yield part

    async def close(self) -> None:
        return None

    async def _parts(self, request: ModelRequest, options: SendOptions) -> AsyncGenerator[ReplyPart]:
        fault = self._model.faults.fault(self._asked)
        self._asked += 1
        limit = Timeouts().total if options.timeout is None else options.timeout
        deadline = self._clock.monotonic() + limit if limit else float("inf")
        if fault is not None:
            await self._fail_instead(fault, deadline)
        reply = spoil(self._model.reply(request), fault)
        kind = fault.kind if fault is not None else None
        if kind is FaultKind.DUPLICATE_IDS:
            reply = numbered_ids(reply)
        parts = parts_of(replace(reply, warnings=self._warnings), piece=self._piece)
        if fault is not None and kind is FaultKind.CUT:
            parts = cut_parts(parts, fault.at_byte)
        for part in parts:
            if fault is not None and kind is FaultKind.SLOW_DRIP:
                await self._wait(fault.seconds, deadline)
            yield part
        if kind is FaultKind.CUT:
            raise self._failed(FailureKind.BAD_RESPONSE, BROKEN)

    async def _fail_instead(self, fault: Fault, deadline: float) -> None:
        """The faults that leave nothing of the answer."""
        if fault.kind is FaultKind.STATUS:
            raise ProviderError(failure_of(fault), hint=f"provider {self._name}, status {fault.status}")
        if fault.kind is FaultKind.TIMEOUT:
            await self._wait(fault.seconds, deadline)
            raise self._failed(FailureKind.BAD_RESPONSE, BROKEN)
        if fault.kind is FaultKind.WRONG_CONTENT_TYPE:
            try:
                read_object(PAGE, what="answer")
            except WireError as error:
                raise ProviderError(unreadable(error, PAGE), hint=f"provider {self._name}, status 502") from None

    async def _wait(self, seconds: float, deadline: float) -> None:
        left = max(0.0, deadline - self._clock.monotonic())
        await self._clock.sleep(min(seconds, left))
        if seconds > left:
            raise self._failed(FailureKind.TIMEOUT, LATE)

    def _failed(self, kind: FailureKind, message: str) -> ProviderError:
        return unreachable(TransportError(kind, message), self._name)


def _answer(value: Answer | str) -> Answer:
    return Answer(value) if isinstance(value, str) else value


def _on_offer(answer: Answer, request: ModelRequest) -> Answer:
    """Its calls by the names that the request offers; a script may spell a name as the caller or as the wire does."""
    offered = {tool.name: tool.name for tool in request.tools if isinstance(tool, FunctionTool)}
    spelled = {_NOT_WIRE.sub("_", name): name for name in offered} | offered
    calls: list[Ask] = []
    for ask in answer.calls:
        name = spelled.get(ask.name) or spelled.get(_NOT_WIRE.sub("_", ask.name))
        if ask.offered and name is None:
            listed = ", ".join(offered) or "nothing"
            message = f"The script calls {ask.name!r}, which is not on offer. Offered: {listed}."
            return Answer(
                failure=Failure(kind=FailureKind.SERVER, message=message, code=SCRIPT_ERROR, should_retry=False)
            )
        calls.append(replace(ask, name=name or ask.name))
    return replace(answer, calls=tuple(calls)) if calls else answer


def steps_taken(items: Sequence[Item]) -> int:
    """How often the model has answered so far: runs of its items, and every message that stands for itself."""
    steps = 0
    inside = False
    for item in items:
        own = is_models(item)
        if own and (not inside or item.split):
            steps += 1
        inside = own
    return steps


def _choose(request: ModelRequest) -> Answer:
    text, call = choose_answer(request)
    return Answer(text, (Ask(*call),) if call else ())
