"""A relayed request, rewritten: the client's tools make way for the session's, and placeholders for what they stand for.

A pure function over a body in Gemini's JSON. Whatever the body is, there is an answer: where something cannot be done,
it is left as it was, with the reason. Knows no store, no model and no client.
"""

import hashlib
from typing import Any

import msgspec
from msgspec import Struct, field

from groundwire.codecs.wire.json import dump, read_object
from groundwire.contracts.canonical import JsonObject, JsonValue
from groundwire.contracts.errors import WireError

_TOOLS = ("tools", "toolConfig", "tool_config")
_MODEL_ROLES = ("model", "assistant")


class KnownStep(Struct, frozen=True, kw_only=True):
    """Calls that the client has not seen, and their results. `contents` are both as the model is to read them.

    `context` says what had been said before, as a digest. `is_pending`: no request has brought the results yet.
    `is_open`: the model has not answered them yet.
    """

    step_id: str
    context: str
    contents: tuple[JsonObject, ...]
    is_pending: bool = False
    is_open: bool = False


class ToolContext(Struct, frozen=True, kw_only=True):
    """What a session puts into a request, in Gemini's form. `steps` are in the order in which they were made."""

    placeholder: str
    tools: list[JsonValue] = field(default_factory=list)
    tool_config: JsonObject | None = None
    steps: tuple[KnownStep, ...] = ()


class Rewriting(Struct, frozen=True, kw_only=True):
    """`placed` are the steps that are in the body now, in order, each with the digest of what stands before it.

    `context` is the digest of all that is said in the body. `brings_results`: it ends with results, or has some that
    are new to the model. `problem`: what could not be done, and why.
    """

    body: bytes
    context: str = ""
    placed: dict[str, str] = field(default_factory=dict)
    brings_results: bool = False
    problem: str = ""


def rewrite(body: bytes, context: ToolContext | None) -> Rewriting:
    """The body with what the context says; without one, the body as it is."""
    if context is None:
        return Rewriting(body=body)
    try:
        return _rewrite(read_object(body), context)
    except WireError as error:
        return Rewriting(body=body, problem=str(error))
    except RecursionError:
        return Rewriting(body=body, problem="The body is nested too deeply.")


def _rewrite(wire: JsonObject, context: ToolContext) -> Rewriting:
    made = {name: value for name, value in wire.items() if name not in _TOOLS}
    contents = wire.get("contents")
    pending = [step for step in context.steps if step.is_pending]
    history = _History([], context)
    problem = ""
    if isinstance(contents, list):
        history = _assemble(contents, context, pending)
        made["contents"] = history.contents
        if any(step.step_id not in history.placed for step in pending):
            problem = f"No turn of the model says {context.placeholder!r}, so its calls and results have no place."
    elif pending:
        problem = "The body has no list of contents."
    brings_results = history.ends_with_results or any(step.step_id in history.placed for step in pending)
    if context.tools:
        made["tools"] = context.tools
    if context.tool_config is not None:
        made["toolConfig"] = _unforced(context.tool_config) if brings_results else context.tool_config
    return Rewriting(
        body=dump(made),
        context=history.digest,
        placed=history.placed,
        brings_results=brings_results,
        problem=problem,
    )


def _assemble(contents: list[JsonValue], context: ToolContext, pending: list[KnownStep]) -> "_History":
    history = _History(contents, context).assembled({})
    lost = [step for step in pending if step.step_id not in history.placed]
    if lost and history.unclaimed:
        # The client tells what went before in other words than it did; the latest placeholder is for the latest calls.
        history = _History(contents, context).assembled({history.unclaimed[-1]: lost})
    return history


class _History:
    """Walks the contents once. Placeholders find their steps by what stands before them."""

    def __init__(self, source: list[JsonValue], context: ToolContext) -> None:
        self.contents: list[JsonValue] = []
        self.placed: dict[str, str] = {}
        self.unclaimed: list[int] = []
        """Where turns begin that say the placeholder and have no step."""
        self.digest = ""
        self.ends_with_results = False
        self._source = source
        self._placeholder = context.placeholder
        self._steps = {step.context: step for step in context.steps}

    def assembled(self, claims: dict[int, list[KnownStep]]) -> "_History":
        """`claims` gives the turns that begin there to steps that nothing else leads to."""
        place = 0
        while place < len(self._source):
            end = _end_of_turn(self._source, place)
            said = _said(self._source[place:end])
            if said.endswith(self._placeholder):
                self._take_placeholder(place, end, claims, is_all=said == self._placeholder)
            else:
                self._keep(place, end)
            place = end
        if self._source and not _is_models(self._source[-1]):
            self.ends_with_results = self._place_steps(only_open=True)
        return self

    def _take_placeholder(self, place: int, end: int, claims: dict[int, list[KnownStep]], *, is_all: bool) -> None:
        claimed = claims.get(place, ())
        for step in claimed:
            self._place(step)
        if self._place_steps() or claimed:
            return
        self.unclaimed.append(place)
        if not (is_all and self.placed):  # else it was said again because the results were not there yet
            self._keep(place, end)

    def _place_steps(self, *, only_open: bool = False) -> bool:
        """The steps that were made when all this had been said and no more."""
        is_any = False
        while True:
            step = self._steps.get(self.digest)
            if step is None or step.step_id in self.placed or (only_open and not step.is_open):
                return is_any
            self._place(step)
            is_any = True

    def _place(self, step: KnownStep) -> None:
        self.placed[step.step_id] = self.digest
        self.contents.extend(step.contents)
        self.digest = _digest(self.digest, step.step_id)

    def _keep(self, place: int, end: int) -> None:
        for content in self._source[place:end]:
            self.contents.append(content)
            self.digest = _digest(self.digest, content)


def _end_of_turn(contents: list[JsonValue], place: int) -> int:
    """Contents of the model in a row are one turn: clients keep the chunks of a stream that way."""
    end = place + 1
    if _is_models(contents[place]):
        while end < len(contents) and _is_models(contents[end]):
            end += 1
    return end


def _is_models(content: JsonValue) -> bool:
    return isinstance(content, dict) and content.get("role") in _MODEL_ROLES


def _said(turn: list[Any]) -> str:
    """What the model said in a turn, without its thoughts; nothing for a turn of somebody else."""
    if not _is_models(turn[0]):
        return ""
    listed = [content.get("parts") for content in turn]
    parts = [part for entry in listed if isinstance(entry, list) for part in entry if isinstance(part, dict)]
    texts = [part.get("text") for part in parts if part.get("thought") is not True]
    return "".join(text for text in texts if isinstance(text, str)).strip()


def _digest(before: str, said: JsonValue) -> str:
    return hashlib.sha256(before.encode() + msgspec.json.encode(said, order="deterministic")).hexdigest()


def _unforced(config: JsonObject) -> JsonObject:
    """A call that is forced again and again would never let the model answer."""
    calling = config.get("functionCallingConfig")
    is_forced = isinstance(calling, dict) and calling.get("mode") == "ANY"
    return {**config, "functionCallingConfig": {"mode": "AUTO"}} if is_forced else config
