"""What an answer of the model is, and what follows from it. Pure: the runner does what is decided here."""

from typing import ClassVar, Literal, TypeAlias

from msgspec import Struct

from groundwire.contracts.messages import CallItem, Message, NativeItem, ReasoningItem, RefusalPart
from groundwire.contracts.replies import FinishReason, Reply
from groundwire.contracts.runs import Outcome


class Carry(Struct, frozen=True, kw_only=True, tag_field="kind", tag="carry"):
    """Carry out the calls of the reply, and ask again."""

    kind: ClassVar[Literal["carry"]] = "carry"
    keep: ClassVar[bool] = True


class Repair(Struct, frozen=True, kw_only=True, tag_field="kind", tag="repair"):
    """Ask again: with these words, and without the reply in the conversation unless it is kept.

    `outcome` is what the run ends with if nothing more may be repaired.
    """

    kind: ClassVar[Literal["repair"]] = "repair"
    outcome: Outcome
    words: str = ""
    fault: str = ""
    keep: bool = False


class GoOn(Struct, frozen=True, kw_only=True, tag_field="kind", tag="go_on"):
    """The model paused in the middle of its own work: ask again with what it has so far."""

    kind: ClassVar[Literal["go_on"]] = "go_on"
    keep: ClassVar[bool] = True


class Finish(Struct, frozen=True, kw_only=True, tag_field="kind", tag="finish"):
    """It is an answer, or will not become a better one."""

    kind: ClassVar[Literal["finish"]] = "finish"
    outcome: Outcome
    keep: bool = True


CARRY, GO_ON = Carry(), GoOn()

Judgement: TypeAlias = Carry | Repair | GoOn | Finish

_MALFORMED = (
    "Your last tool call could not be read and was not carried out. Call the tool again with arguments that are one valid "
    "JSON object, or answer in words."
)
_CUT_CALL = (
    "Your last tool call was cut off because it was too long, and was not carried out. Call again with shorter arguments, "
    "or answer in words."
)
_CUT = (FinishReason.LENGTH, FinishReason.CONTEXT_FULL)
_REFUSED = (FinishReason.CONTENT_FILTER, FinishReason.PROMPT_BLOCKED)
_BROKEN = (FinishReason.FAILED, FinishReason.INCOMPLETE, FinishReason.CANCELLED)


def judge(reply: Reply) -> Judgement:
    """By what the reply holds first, and by the reason that its provider gave second."""
    reason = reply.finish.reason
    calls, is_whole = 0, True
    for item in reply.items:
        if type(item) is CallItem:
            calls += 1
            is_whole = is_whole and item.complete
    if reason is FinishReason.TOOL_CALLS and is_whole and 0 < calls == len(reply.items):
        return CARRY  # as most are
    if reason is FinishReason.MALFORMED_CALL:
        return Repair(outcome=Outcome.MALFORMED_CALL, words=_MALFORMED)
    if not is_whole:
        is_cut = reason in _CUT
        return Repair(
            outcome=Outcome.CUT_OFF if is_cut else Outcome.UNEXPECTED_ANSWER, words=_CUT_CALL if is_cut else ""
        )
    if reason in _REFUSED or (calls < len(reply.items) and _refusal_of(reply)):
        return Finish(outcome=Outcome.REFUSED, keep=bool(reply.items) and not calls)
    if reason in _BROKEN:
        return Repair(outcome=Outcome.UNEXPECTED_ANSWER)
    if calls:
        return CARRY
    if reason is FinishReason.PAUSED:
        return GO_ON
    if reason in _CUT:
        return Finish(outcome=Outcome.CUT_OFF) if reply.text.strip() else Repair(outcome=Outcome.CUT_OFF)
    if reply.text.strip() or _holds_more(reply):
        return Finish(outcome=Outcome.COMPLETED)
    is_thought = any(isinstance(item, ReasoningItem) for item in reply.items)
    return Repair(outcome=Outcome.THINKING_ONLY if is_thought else Outcome.EMPTY_ANSWER, keep=False)


def refusal_text(reply: Reply) -> str:
    """What the model said instead of an answer."""
    return _refusal_of(reply) or reply.text


def _refusal_of(reply: Reply) -> str:
    refused = ""
    for item in reply.items:
        if type(item) is Message:
            refused += "".join([part.text for part in item.parts if isinstance(part, RefusalPart)])
    return refused


def _holds_more(reply: Reply) -> bool:
    """An answer without words, such as an image."""
    return any(
        (isinstance(item, Message) and any(part.kind == "media" for part in item.parts)) or isinstance(item, NativeItem)
        for item in reply.items
    )


_NOTICES: dict[Outcome, str] = {
    Outcome.CLIENT_CALLS: "",
    Outcome.AWAITING_APPROVAL: "This needs somebody's agreement before it can go on.",
    Outcome.NO_TOOL_CALL: "This could not be done: the model did not use a tool, as it had to.",
    Outcome.TOOL_FAILED: "This could not be done: a tool failed.",
    Outcome.EMPTY_ANSWER: "The model gave no answer.",
    Outcome.THINKING_ONLY: "The model gave no answer.",
    Outcome.MALFORMED_CALL: "This could not be done: the model's call could not be read.",
    Outcome.REFUSED: "The model declined to answer.",
    Outcome.CUT_OFF: "The answer was cut off before it was complete.",
    Outcome.UNEXPECTED_ANSWER: "The model's answer could not be used.",
    Outcome.INVALID_OUTPUT: "The answer did not have the form that was asked for.",
    Outcome.LOOP_DETECTED: "This could not be finished: the model kept repeating itself.",
    Outcome.STEP_LIMIT: "This could not be finished within the number of steps that is allowed.",
    Outcome.TIME_LIMIT: "This could not be finished in the time that is allowed.",
    Outcome.TOKEN_LIMIT: "This could not be finished within the number of tokens that is allowed.",
    Outcome.COST_LIMIT: "This could not be finished for the cost that is allowed.",
    Outcome.PROVIDER_ERROR: "The model could not be reached. Nothing is lost; try again later.",
    Outcome.CANCELLED: "This was cancelled.",
}


def notice_for(outcome: Outcome) -> str:
    """A sentence for the user where the model gave none."""
    return _NOTICES.get(outcome, "")
