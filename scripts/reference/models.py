"""models.md: the values that a model is asked with, and those that come back."""

from collections.abc import Iterator
from typing import Any

import msgspec

from groundwire.contracts.failures import RETRYABLE_FAILURES, Failure, FailureKind
from groundwire.contracts.messages import CallItem, Item, MediaPart, Message, Part, ResultItem, TextPart
from groundwire.contracts.replies import Finish, FinishReason, Reply, Usage, WireWarning
from groundwire.contracts.requests import (
    DeclaredTool,
    FunctionTool,
    ModelRequest,
    OutputFormat,
    ReasoningOptions,
    Sampling,
    SendOptions,
    ToolChoice,
)
from scripts.reference.markdown import code, explain, page, show_default, show_type, table

ASKED: tuple[type[msgspec.Struct], ...] = (
    ModelRequest,
    FunctionTool,
    ToolChoice,
    OutputFormat,
    Sampling,
    ReasoningOptions,
)
SAID: tuple[type[msgspec.Struct], ...] = (Message, TextPart, MediaPart, CallItem, ResultItem)
ANSWERED: tuple[type[msgspec.Struct], ...] = (Reply, Finish, Usage, WireWarning)
_SHARED = {
    "private": "What only one dialect knows about it, by the dialect's name. Goes back there untouched.",
    "split": "It began a message of its own although the one before had the same speaker.",
}
WORDS = {
    "ModelRequest.model": "The model's [name](../guides/models.md#naming-a-model).",
    "ModelRequest.items": "The conversation, in its order.",
    "ModelRequest.instructions": "The system prompt.",
    "ModelRequest.tools": "What the model may call; `registry.function_tools()` makes them.",
    "ModelRequest.tool_choice": "Whether it may, or must.",
    "ModelRequest.parallel_calls": "Whether it may make several calls at once.",
    "ModelRequest.sampling": "How words are chosen.",
    "ModelRequest.max_output_tokens": "After how many tokens the answer is cut.",
    "ModelRequest.output": "The form of the answer's text.",
    "ModelRequest.reasoning": "How much to think.",
    "ModelRequest.stream": "Set by whoever sends it.",
    "ModelRequest.extras": "Members of the body that only one dialect knows, by its name.",
    "FunctionTool.name": "As the model sees it.",
    "FunctionTool.description": "What it does, for the model.",
    "FunctionTool.parameters": "The JSON Schema of its arguments.",
    "FunctionTool.strict": "Whether the provider holds the model to the schema.",
    "FunctionTool.freeform": "The format of a tool that takes plain text (OpenAI's custom tools).",
    "ToolChoice.mode": "As the model likes, not at all, or at least one.",
    "ToolChoice.names": "Only these; empty: any.",
    "OutputFormat.type": "Free, any JSON, or JSON of the schema.",
    "OutputFormat.schema": "The JSON Schema, with the type `schema`.",
    "OutputFormat.name": "A name for the schema, where the API wants one.",
    "OutputFormat.description": "What it is for.",
    "OutputFormat.strict": "Whether the provider holds the model to it.",
    "Sampling.temperature": "Higher is more random.",
    "Sampling.top_p": "Only the likeliest words, up to this probability.",
    "Sampling.top_k": "Only so many words.",
    "Sampling.seed": "For answers that can be had again, where the provider tries.",
    "Sampling.presence_penalty": "Against words that occurred.",
    "Sampling.frequency_penalty": "Against words that occurred often.",
    "Sampling.stop": "Texts at which the answer ends.",
    "Sampling.count": "How many answers to give.",
    "ReasoningOptions.effort": "A word of the provider, such as `low`.",
    "ReasoningOptions.budget": "How many tokens; 0 turns thinking off.",
    "ReasoningOptions.summary": "Whether the thoughts are told.",
    "Message.role": "`user`, `assistant`, `system` or `developer`.",
    "Message.parts": "What was said.",
    "Message.turn": "Counted from 1; what evidence refers to.",
    "TextPart.text": "The text.",
    "TextPart.citations": "Sources that it names.",
    "MediaPart.media_type": "Such as `image/png`, or `image/*`.",
    "MediaPart.data": "Its bytes,",
    "MediaPart.url": "or its address,",
    "MediaPart.file_id": "or the provider's id of it.",
    "MediaPart.name": "The file's name.",
    "MediaPart.detail": "How closely an image is looked at: `low`, `high` or `auto`.",
    "CallItem.call": "`call_id`, `name` and `raw`, the argument text.",
    "CallItem.complete": "False for a call that was cut off: it must never be executed.",
    "ResultItem.call_id": "The id of the call.",
    "ResultItem.name": "The tool's name.",
    "ResultItem.parts": "What the tool gave, as the model is to read it.",
    "ResultItem.failed": "Whether it is an error.",
    "SendOptions.overrides": "Merged into the wire body, except for what the request owns.",
    "SendOptions.message_transforms": "[Transforms](run-settings.md#transforms) of the messages,",
    "SendOptions.tool_transforms": "of the tools,",
    "SendOptions.response_transforms": "and of the answer.",
    "SendOptions.fallbacks": "Models to ask when this one fails.",
    "SendOptions.timeout": "Seconds that one attempt may take; 0: while pieces keep coming.",
    "Reply.reply_id": "The provider's id of the answer.",
    "Reply.model": "The model that answered, as the provider names it.",
    "Reply.created": "When, in seconds since 1970.",
    "Reply.items": "Everything that was said, thought and asked for, in its order.",
    "Reply.finish": "Why it ended.",
    "Reply.usage": "Tokens.",
    "Reply.alternatives": "More answers, where several were asked for.",
    "Reply.warnings": "What could not be said in the provider's dialect, and what happened on the way.",
    "Reply.extras": "Members of the response that have no place here, by dialect.",
    "Finish.reason": "In our words.",
    "Finish.raw": "In the provider's.",
    "Finish.detail": "What else it said.",
    "Usage.input": "Read, cached ones too.",
    "Usage.output": "Written, reasoning too.",
    "Usage.total": "Both.",
    "Usage.cached": "Of the input: from the cache.",
    "Usage.cache_write": "Of the input: written to the cache.",
    "Usage.reasoning": "Of the output: thoughts.",
    "WireWarning.code": "One of the [warnings](dialects.md).",
    "WireWarning.path": "The member that it is about.",
    "WireWarning.message": "What happened to it.",
    "Failure.kind": "One of the kinds below.",
    "Failure.message": "The provider's message, without keys.",
    "Failure.status": "The HTTP status, or the one that fits.",
    "Failure.code": "The provider's own code,",
    "Failure.type": "type,",
    "Failure.param": "and parameter.",
    "Failure.retry_after": "Seconds after which it may be asked again.",
    "Failure.should_retry": "What the provider itself says about that.",
    "Failure.request_id": "The provider's id of the request.",
    "Failure.detail": "What else it said.",
    "Failure.body": "What it sent.",
}
KINDS = {
    "invalid_request": "The request is wrong.",
    "authentication": "The key is missing or not valid.",
    "billing": "The account has to be paid for.",
    "permission": "The key may not do that.",
    "not_found": "There is no such model or address.",
    "conflict": "Something else is under way.",
    "too_large": "The body is too large.",
    "context_full": "The conversation is longer than the model can read.",
    "content_filter": "The provider will not answer that.",
    "malformed_call": "The model wrote a call that nobody can read.",
    "rate_limit": "Too many requests at the moment.",
    "quota": "The quota is used up.",
    "cancelled": "The request was given up.",
    "timeout": "No answer in time.",
    "overloaded": "The provider is overloaded or cannot be reached.",
    "server": "The provider failed.",
    "bad_response": "The answer is not what the API promises.",
}


def generate() -> str:
    shown: tuple[type[msgspec.Struct], ...] = (*ASKED, *SAID, SendOptions, *ANSWERED, Failure)
    fields = [f"{kind.__name__}.{each.name}" for kind in shown for each in msgspec.structs.fields(kind)]
    explain([name for name in fields if name.partition(".")[2] not in _SHARED], WORDS, "values of models")
    explain(FailureKind, KINDS, "kinds of failures")
    reasons = ", ".join(code(reason.value) for reason in FinishReason)
    return page(
        "Asking a model",
        "The values of [the guide](../guides/models.md), with their fields. All are names of `groundwire`, frozen, and made with "
        "keywords. A field without a default may be left out and is then None, unless it is required.",
        "## What is asked",
        *map(_section, ASKED),
        "## The conversation",
        '`say("user", "…")` makes a message of one text, `result_item(call, result)` the result of a call that a runtime made.',
        *map(_section, SAID),
        "## How it is sent",
        _section(SendOptions),
        "## What comes back",
        *map(_section, ANSWERED),
        f"`reply.text` and `reply.calls` are taken from the items. Reasons to finish: {reasons}.",
        "## What went wrong",
        "`error.failure` of a `ProviderError`. `failure.retryable` says whether the same request may work later.",
        _section(Failure),
        "### `FailureKind`",
        table(("kind", "may work later", "meaning"), _kinds()),
    )


def _section(kind: type[msgspec.Struct]) -> str:
    rows = (
        (code(each.name), _type(each.type), show_default(each), _words(kind, each.name))
        for each in msgspec.structs.fields(kind)
    )
    return f"### {code(kind.__name__)}\n\n{table(('field', 'type', 'default', 'meaning'), rows)}"


def _words(kind: type[msgspec.Struct], name: str) -> str:
    return _SHARED[name] if name in _SHARED else WORDS[f"{kind.__name__}.{name}"]


_UNIONS: dict[Any, str] = {
    tuple[Item, ...]: "list of items",
    tuple[Part, ...]: "list of parts",
    tuple[DeclaredTool, ...]: "list of `FunctionTool` or `NativeTool`",
    FinishReason: "`FinishReason`",
    FailureKind: "`FailureKind`",
}


def _type(annotation: Any) -> str:
    return _UNIONS.get(annotation) or show_type(annotation)


def _kinds() -> Iterator[tuple[str, ...]]:
    for kind in FailureKind:
        yield code(kind.value), "yes" if kind in RETRYABLE_FAILURES else "no", KINDS[kind.value]
