"""Requests that name tools of the server: the loop runs here, under every guarantee of the runtime.

The caller's own tools are offered beside ours and handed back when they are called; ours are carried out, and their
calls and results stay here. To the endpoints it looks like a model that takes a little longer.
"""

from collections.abc import AsyncGenerator, Iterable, Sequence
from contextlib import aclosing
from itertools import count
from typing import Any, TypeAlias

from msgspec import Struct, to_builtins
from msgspec.structs import replace

from groundwire.agent import Agent
from groundwire.codecs.wire.building import deltas_of, parts_of
from groundwire.contracts.canonical import JsonObject
from groundwire.contracts.errors import NotFound, ProviderError, WireError
from groundwire.contracts.events import (
    ApprovalRequested,
    CallFinished,
    CallProgress,
    CallStarted,
    Event,
    RunEnded,
    TextDelta,
)
from groundwire.contracts.failures import Failure, FailureKind
from groundwire.contracts.keys import ApprovalMode, Caller
from groundwire.contracts.messages import CallItem, Item, Message, TextPart
from groundwire.contracts.replies import (
    Finish,
    FinishReason,
    ItemEnded,
    Reply,
    ReplyEnded,
    ReplyPart,
    ReplyStarted,
    ReplyTextDelta,
    Usage,
)
from groundwire.contracts.requests import DeclaredTool, FunctionTool, ModelRequest, NativeTool, ToolChoice
from groundwire.contracts.runs import RESUMABLE, Outcome
from groundwire.contracts.tools import ToolSpec
from groundwire.gateway.approvals import PendingApproval, approvals_in, pending_approvals
from groundwire.registry.names import MAX_NAME
from groundwire.runtime.policies.access import is_callable_by, matches_any, parse_names
from groundwire.runtime.runs.history import load_run
from groundwire.runtime.runs.judging import notice_for
from groundwire.runtime.runs.state import RunState
from groundwire.runtime.sessions import MAX_ID_CHARS, is_id
from groundwire.runtime.stored_calls import calls_of_run

REQUEST_SECONDS = 24 * 3600
"""So long does a key name the request that it was first sent with."""
TOOLS_HEADER = "x-groundwire-tools"
APPROVALS_HEADER = "x-groundwire-approvals"
MAX_PATTERNS = 1_000
"""Names and patterns of the server's tools that one request may have."""
NO_ANSWER = Failure(kind=FailureKind.SERVER, message="The model did not answer.", status=502)
"""The failure of a run that ended at its provider without saying why."""

_OURS = "groundwire"
_FINISHES = {
    Outcome.CLIENT_CALLS: FinishReason.TOOL_CALLS,
    Outcome.CUT_OFF: FinishReason.LENGTH,
    Outcome.REFUSED: FinishReason.CONTENT_FILTER,
    Outcome.TOKEN_LIMIT: FinishReason.LENGTH,
}

_USE_MODES = {"none": "disabled", "required": "enforced"}
"""What the caller's choice means for the run: there are models that ignore it."""


class Progress(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What our tools are doing, for those who watch a stream. `approval_id` is what a call waits for, if it does."""

    event: str
    name: str
    call_id: str
    approval_id: str = ""


class Governing(Struct, frozen=True, kw_only=True):
    """Which of our tools one request may use, and on whose behalf.

    A request with a key of its own has one run, however often it is sent: what it did is not done again.
    """

    names: tuple[str, ...]
    tenant: str
    session: str | None = None
    actor: str = ""
    key_id: str = ""
    request_key: str = ""
    approvals: ApprovalMode = "answer"
    """What a call does that needs an approval: it is refused with a text for the model, or the run pauses."""


GovernedPart: TypeAlias = ReplyPart | Progress


def checked_name(name: str, where: str) -> str:
    """The name of a session or a conversation, which is one too; WireError where it cannot be."""
    if not is_id(name):
        raise WireError(f"has 1 to {MAX_ID_CHARS} printable characters", path=where)
    return name


def patterns_in(request: ModelRequest) -> tuple[str, ...]:
    """The names and globs of our tools that stand among a request's tools, in whatever way its dialect puts them."""
    found: list[str] = []
    for place, tool in enumerate(request.tools):
        if type(tool) is NativeTool and is_ours(tool):
            found.extend(_names_of(tool.value, f"tools[{place}]"))
    return checked_patterns(found) if found else ()


def checked_patterns(patterns: Sequence[str]) -> tuple[str, ...]:
    """Return the patterns, or raise WireError if they are many or long: each is compiled and compared with every tool."""
    if len(patterns) > MAX_PATTERNS:
        raise WireError(f"names {len(patterns)} tools or patterns; at most {MAX_PATTERNS} are allowed", path="tools")
    for pattern in patterns:
        if len(pattern) > MAX_NAME:
            message = f"{pattern[:40]!r}… has {len(pattern)} characters; a name or pattern has at most {MAX_NAME}"
            raise WireError(message, path="tools")
    return tuple(patterns)


def is_ours(tool: NativeTool) -> bool:
    """Whether it names tools of the server."""
    return tool.value.get("type") == _OURS or _OURS in tool.value


def _names_of(value: JsonObject, path: str) -> Iterable[str]:
    inner = value.get(_OURS)
    given: Any = inner.get("name") if isinstance(inner, dict) else value.get("name")
    if isinstance(given, list) and all(isinstance(name, str) for name in given):
        return given
    if not isinstance(given, str) or not given:
        raise WireError("must be the name of a tool, or a pattern such as kb_*", path=f"{path}.name")
    return parse_names(given) or ()


def tools_of(agent: Agent, patterns: tuple[str, ...], caller: Caller) -> tuple[ToolSpec, ...]:
    """The tools that are meant; WireError for a pattern that none has.

    Tools that are hidden, or not for the caller, count as none. Without patterns, the caller's default ones are meant.
    """
    specs = [
        tool.spec
        for tool in agent.runtime.registry
        if is_callable_by(tool.spec, "model") and caller.may_use_tool(tool.spec.tool_id, tool.spec.wire_name)
    ]
    for pattern in patterns:
        if not any(matches_any(spec, (pattern,)) for spec in specs):
            raise WireError(f"there is no tool {pattern!r} on this server", path="tools")
    return tuple([spec for spec in specs if matches_any(spec, patterns or caller.default_tools)])


def check_names(tools: Sequence[DeclaredTool], ours: Iterable[ToolSpec]) -> None:
    """WireError for a tool of the caller's that has the name of one of ours: no model could tell them apart."""
    taken = {spec.wire_name for spec in ours}
    for place, tool in enumerate(tools):
        if type(tool) is FunctionTool and tool.name in taken:
            message = f"is {tool.name!r}, which is also the name of a tool of this server that the request may use"
            hint = "rename yours, or leave the server's out of the request or of the key's default tools"
            raise WireError(message, path=f"tools[{place}].name", hint=hint)


class GovernedModel:
    """Answers one request. When it is done, `items` has all messages and calls, and `approvals` what calls wait for."""

    def __init__(self, agent: Agent, governing: Governing) -> None:
        self._agent = agent
        self._governing = governing
        self.items: tuple[Item, ...] = ()
        self.approvals: tuple[PendingApproval, ...] = ()
        self._requested: dict[str, str] = {}
        self.run_id = ""
        self.is_paused = False
        """Whether its run waits for an approval, and will end later."""
        self._is_known = False
        """Whether its run had begun with an earlier request of the same key."""

    async def used(self) -> Usage:
        """What the steps took that are on record so far."""
        runtime = self._agent.runtime
        try:
            return (await load_run(runtime.store, runtime.clock, self._governing.tenant, self.run_id)).usage
        except NotFound:
            return Usage()

    async def submit(self, request: ModelRequest, run_id: str) -> None:
        """Store a run for a worker to execute. A call that needs an approval pauses it."""
        options = {**self._options(request), "approvals": "pause"}
        await self._agent.submit(history=request.items, run_id=run_id, **options)

    async def complete(self, request: ModelRequest) -> Reply:
        run_id, begun = await self._begun()
        if begun is not None and _has_ended(begun):
            await self._find_approvals()
            return self._given_again(request, begun)
        if begun is not None:
            result = await self._agent.resume(run_id, tenant=self._governing.tenant)
        else:
            result = await self._agent.run(history=request.items, run_id=run_id, **self._options(request))
        self.is_paused = result.outcome is Outcome.AWAITING_APPROVAL
        for event in result.events:
            self._note_approval(event)
        await self._find_approvals()
        self.items = result.items
        shown = _words_in(result.items)
        reply = self._reply(request, result.outcome, result.text, result.failure, result.usage, shown, result.run_id)
        return replace(reply, warnings=result.warnings)

    async def batches(self, request: ModelRequest) -> AsyncGenerator[list[GovernedPart]]:
        said = _Said()
        ended: RunEnded | None = None
        run_id, begun = await self._begun()
        if begun is not None and _has_ended(begun):
            await self._find_approvals()
            yield [*parts_of(self._given_again(request, begun))]
            return
        running = (
            self._agent.stream(history=request.items, run_id=run_id, **self._options(request))
            if begun is None
            else self._agent.resume_stream(run_id, tenant=self._governing.tenant)
        )
        async with aclosing(running) as events:
            async for event in events:
                if isinstance(event, RunEnded):
                    ended = event
                    continue
                self._note_approval(event)
                if heard := [*said.hear(event, request.model)]:
                    yield heard
        if ended is None:
            return
        self.is_paused = ended.outcome == Outcome.AWAITING_APPROVAL
        await self._find_approvals()
        runtime = self._agent.runtime
        self.items = (await load_run(runtime.store, runtime.clock, self._governing.tenant, ended.run_id)).new_items
        last: list[GovernedPart] = [*said.finished()]
        if not said.items and ended.text and ended.outcome != Outcome.PROVIDER_ERROR:
            last += said.hear(TextDelta(text=ended.text), request.model)
            last += said.finished()
        outcome = Outcome(ended.outcome)
        reply = self._reply(request, outcome, ended.text, ended.failure, ended.usage, said.items, ended.run_id)
        for index in range(len(said.items), len(reply.items)):
            last += [*deltas_of(reply.items[index], index), ItemEnded(index=index, item=reply.items[index])]
        yield [*last, ReplyEnded(reply=reply)]

    def _note_approval(self, event: Event) -> None:
        if isinstance(event, ApprovalRequested):
            self._requested[event.confirmation_id] = event.call_id

    async def _find_approvals(self) -> None:
        """Find which approvals are open. What a run did before it was resumed is not among its events."""
        store, governing = self._agent.runtime.store, self._governing
        if self._is_known:
            calls = await calls_of_run(store, governing.tenant, governing.session or self.run_id, self.run_id)
            self._requested = approvals_in(calls) | self._requested
        self.approvals = await pending_approvals(store, governing.tenant, self._requested)

    async def _begun(self) -> tuple[str, RunState | None]:
        """The id of the run, and the run itself where this request came before. After a day the key names a new one."""
        key, runtime = self._governing.request_key, self._agent.runtime
        if not key:
            self.run_id = runtime.ids.new("run")
            return self.run_id, None
        for number in count():
            run_id = self.run_id = f"run_{key[:32]}.{number}" if number else f"run_{key[:32]}"
            try:
                begun = await load_run(runtime.store, runtime.clock, self._governing.tenant, run_id)
            except NotFound:
                return run_id, None
            if begun.run.created_at > runtime.clock.now() - REQUEST_SECONDS:
                self._is_known = True
                return run_id, begun
        raise AssertionError("numbers do not end")

    def _given_again(self, request: ModelRequest, ended: RunState) -> Reply:
        self.items = ended.new_items
        outcome, words = Outcome(ended.run.outcome), _words_in(ended.new_items)
        return self._reply(request, outcome, ended.text, ended.failure, ended.usage, words, ended.run.run_id)

    def _options(self, request: ModelRequest) -> dict[str, Any]:
        governing = self._governing
        clients = tuple(tool for tool in request.tools if isinstance(tool, FunctionTool))
        settings: JsonObject = {"tool_allowlist": list(governing.names), "tool_failure_policy": "tolerated"}
        if request.tool_choice is not None:
            settings["tool_choice"] = _choice(request.tool_choice)
            settings["tool_use_mode"] = _USE_MODES.get(request.tool_choice.mode, "relaxed")
        return {
            "model": request.model,
            "instructions": "".join(part.text for part in request.instructions),
            "client_tools": clients,
            "settings": settings,
            "sampling": request.sampling,
            "max_output_tokens": request.max_output_tokens,
            "reasoning": request.reasoning,
            "parallel_calls": request.parallel_calls,
            "output": request.output,
            "tenant": governing.tenant,
            "session": governing.session,
            "actor": governing.actor,
            "approvals": governing.approvals,
            "key_id": governing.key_id,
        }

    def _reply(
        self,
        request: ModelRequest,
        outcome: Outcome,
        text: str,
        failure: Failure | None,
        usage: Usage,
        shown: Iterable[Item],
        run_id: str,
    ) -> Reply:
        if outcome is Outcome.PROVIDER_ERROR:
            raise ProviderError(failure or NO_ANSWER)
        if outcome is Outcome.NO_TOOL_CALL:
            message = notice_for(outcome)
            raise ProviderError(Failure(kind=FailureKind.BAD_RESPONSE, message=message, status=502, code=outcome.value))
        clients = {tool.name for tool in request.tools if isinstance(tool, FunctionTool)}
        items = answered_items(self.items, outcome, text, clients, shown)
        return Reply(reply_id=run_id, model=request.model, items=tuple(items), finish=finish_of(outcome), usage=usage)


def finish_of(outcome: Outcome) -> Finish:
    """How a reply ends whose run ended so."""
    return Finish(reason=_FINISHES.get(outcome, FinishReason.END), raw=outcome.value)


def answered_items(
    items: Sequence[Item], outcome: Outcome, text: str, clients: set[str], shown: Iterable[Item] | None = None
) -> list[Item]:
    """What the client gets of a run that has ended: messages of the model, and calls of the client's own tools.

    The messages are those of `items`, or `shown` if a stream has sent them already, or else `text`.
    """
    messages: list[Item] = [*(_words_in(items) if shown is None else shown)]
    if not messages and text:
        messages = [Message(role="assistant", parts=(TextPart(text=text),))]
    return [*messages, *_open_calls(items, clients)] if outcome is Outcome.CLIENT_CALLS else messages


def _has_ended(run: RunState) -> bool:
    return bool(run.run.outcome) and run.run.outcome not in RESUMABLE


def _words_in(items: Iterable[Item]) -> list[Item]:
    return [item for item in items if type(item) is Message and item.role == "assistant"]


class _Said:
    """The words of a run as the items of one reply: a message for each step that said something."""

    def __init__(self) -> None:
        self.items: list[Item] = []
        self._step: int | None = None
        self._words: list[str] = []
        self._has_begun = False

    def hear(self, event: Event, model: str) -> Iterable[GovernedPart]:
        if not self._has_begun:
            self._has_begun = True
            yield ReplyStarted(model=model)
        if isinstance(event, TextDelta):
            if event.step != self._step:
                yield from self.finished()
                self._step = event.step
            self._words.append(event.text)
            yield ReplyTextDelta(index=len(self.items), text=event.text)
        elif isinstance(event, CallStarted):
            yield Progress(event=event.event, name=event.call.name, call_id=event.call.call_id)
        elif isinstance(event, ApprovalRequested):
            approval_id = event.confirmation_id
            yield Progress(event=event.event, name=event.name, call_id=event.call_id, approval_id=approval_id)
        elif isinstance(event, (CallProgress, CallFinished)):
            yield Progress(event=event.event, name=event.name, call_id=event.call_id)

    def finished(self) -> Iterable[ReplyPart]:
        if self._words:
            message = Message(role="assistant", parts=(TextPart(text="".join(self._words)),))
            self._words = []
            self.items.append(message)
            yield ItemEnded(index=len(self.items) - 1, item=message)


def _open_calls(items: Iterable[Item], clients: set[str]) -> list[CallItem]:
    """The caller's calls: only the last step of a run can hold any."""
    return [item for item in items if type(item) is CallItem and item.call.name in clients]


def _choice(choice: ToolChoice) -> Any:
    if not choice.names:
        return choice.mode
    tools = [{"type": "function", "name": name} for name in choice.names]
    if choice.mode == "required" and len(tools) == 1:
        return tools[0]
    return to_builtins({"type": "allowed_tools", "mode": choice.mode, "tools": tools})
