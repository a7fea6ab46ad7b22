"""The page on dialects: what each of them can say, found out by asking the codecs."""

from collections.abc import Iterable
from typing import Any

from groundwire.codecs.dialects import codec_of
from groundwire.codecs.wire.building import parts_of
from groundwire.codecs.wire.warnings import WIRE_WARNINGS
from groundwire.contracts.calls import ToolCall
from groundwire.contracts.errors import GroundwireError
from groundwire.contracts.failures import Failure, FailureKind
from groundwire.contracts.messages import (
    CallItem,
    Citation,
    Item,
    MediaPart,
    Message,
    NativeItem,
    ReasoningItem,
    RefusalPart,
    ResultItem,
    TextPart,
    say,
)
from groundwire.contracts.replies import Finish, FinishReason, Reply, ReplyFailed, Usage
from groundwire.contracts.requests import (
    DIALECTS,
    Dialect,
    FunctionTool,
    ModelRequest,
    NativeTool,
    OutputFormat,
    ReasoningOptions,
    Sampling,
    ToolChoice,
)
from scripts.reference.markdown import code, page, table

_USER = say("user", "hello")
_TOOLS = (
    FunctionTool(name="f", description="d", parameters={"type": "object", "properties": {"x": {"type": "string"}}}),
    FunctionTool(name="g", description="d", parameters={"type": "object", "properties": {"x": {"type": "string"}}}),
)
_CALL = CallItem(call=ToolCall(call_id="call_1", name="f", raw='{"x":"1"}'))
_RESULT = ResultItem(call_id="call_1", name="f", parts=(TextPart(text="done"),))
_IMAGE = MediaPart(media_type="image/png", data=b"\x89PNG")


def _ask(*items: Item, **options: object) -> ModelRequest:
    return ModelRequest(model="m", items=items or (_USER,), **options)  # type: ignore[arg-type]


def _user(part: object) -> ModelRequest:
    return _ask(Message(role="user", parts=(part,)))  # type: ignore[arg-type]


REQUESTS: dict[str, ModelRequest] = {
    "system prompt": _ask(instructions=(TextPart(text="be brief"),)),
    "system message later on": _ask(_USER, say("system", "now be brief"), _USER),
    "first message by the assistant": _ask(say("assistant", "Welcome."), _USER),
    "image, by its bytes": _user(_IMAGE),
    "image, by its address": _user(MediaPart(media_type="image/png", url="https://example.org/a.png")),
    "sound, by its bytes": _user(MediaPart(media_type="audio/wav", data=b"RIFF")),
    "video, by its bytes": _user(MediaPart(media_type="video/mp4", data=b"....")),
    "PDF, by its bytes": _user(MediaPart(media_type="application/pdf", data=b"%PDF", name="a.pdf")),
    "file of another provider, by its id": _user(MediaPart(media_type="application/pdf", file_id="file-1")),
    "call and result": _ask(_USER, _CALL, _RESULT, tools=_TOOLS),
    "result that failed": _ask(
        _USER, _CALL, ResultItem(call_id="call_1", parts=(TextPart(text="no"),), failed=True), tools=_TOOLS
    ),
    "result with an image": _ask(
        _USER, _CALL, ResultItem(call_id="call_1", parts=(TextPart(text="see"), _IMAGE)), tools=_TOOLS
    ),
    "call whose arguments are no JSON": _ask(
        _USER, CallItem(call=ToolCall(call_id="call_1", name="f", raw="oops")), _RESULT, tools=_TOOLS
    ),
    "call without a result": _ask(_USER, _CALL, _USER, tools=_TOOLS),
    "result without a call": _ask(_USER, _RESULT, tools=_TOOLS),
    "call id with odd characters": _ask(
        _USER,
        CallItem(call=ToolCall(call_id="functions.f:0 |x", name="f", raw="{}")),
        ResultItem(call_id="functions.f:0 |x", parts=(TextPart(text="done"),)),
        tools=_TOOLS,
    ),
    "reasoning of another provider": _ask(_USER, ReasoningItem(text="hm"), say("assistant", "yes"), _USER),
    "what another provider ran itself": _ask(_USER, NativeItem(origin="other", value={"type": "search"}), _USER),
    "citations of another provider": _ask(
        _USER,
        Message(role="assistant", parts=(TextPart(text="so", citations=(Citation(url="https://example.org"),)),)),
        _USER,
    ),
    "refusal in the history": _ask(_USER, Message(role="assistant", parts=(RefusalPart(text="no"),)), _USER),
    "tool name with a dot": _ask(tools=(FunctionTool(name="maps.find", parameters=_TOOLS[0].parameters),)),
    "strict tool": _ask(
        tools=(
            FunctionTool(
                name="f",
                strict=True,
                parameters={
                    "type": "object",
                    "properties": {"x": {"type": "string"}},
                    "required": ["x"],
                    "additionalProperties": False,
                },
            ),
        )
    ),
    "tool that takes plain text": _ask(tools=(FunctionTool(name="f", freeform={"type": "text"}),)),
    "tool of another provider": _ask(tools=(NativeTool(origin="other", value={"type": "web_search"}),)),
    "choice: none": _ask(tools=_TOOLS, tool_choice=ToolChoice(mode="none")),
    "choice: must call": _ask(tools=_TOOLS, tool_choice=ToolChoice(mode="required")),
    "choice: this tool": _ask(tools=_TOOLS, tool_choice=ToolChoice(mode="required", names=("f",))),
    "choice: some tools, if any": _ask(tools=_TOOLS, tool_choice=ToolChoice(names=("f",))),
    "choice: one of some tools": _ask(tools=_TOOLS, tool_choice=ToolChoice(mode="required", names=("f", "g"))),
    "one call at a time": _ask(tools=_TOOLS, parallel_calls=False),
    "temperature and top_p": _ask(sampling=Sampling(temperature=0.5, top_p=0.9)),
    "temperature above 1": _ask(sampling=Sampling(temperature=1.5)),
    "top_k": _ask(sampling=Sampling(top_k=40)),
    "seed": _ask(sampling=Sampling(seed=7)),
    "penalties": _ask(sampling=Sampling(presence_penalty=0.1, frequency_penalty=0.1)),
    "stop strings": _ask(sampling=Sampling(stop=("END",))),
    "several answers": _ask(sampling=Sampling(count=2)),
    "JSON, any": _ask(output=OutputFormat(type="json")),
    "JSON of a schema": _ask(
        output=OutputFormat(
            type="schema",
            name="answer",
            schema={"type": "object", "properties": {"x": {"type": "string"}}, "required": ["x"]},
        )
    ),
    "effort of thinking": _ask(reasoning=ReasoningOptions(effort="low")),
    "budget of thinking": _ask(reasoning=ReasoningOptions(budget=2048), max_output_tokens=8000),
    "what is stored at a Responses provider": _ask(extras={"openai-responses": {"previous_response_id": "resp_1"}}),
    "what is stored at an Anthropic provider": _ask(extras={"anthropic": {"container": "container_1"}}),
    "what is stored at a Gemini provider": _ask(extras={"gemini": {"cachedContent": "cachedContents/1"}}),
    "members that only another dialect knows": _ask(extras={"other": {"service": "fast"}}),
}


def generate() -> str:
    return page(
        "Dialects",
        "What each model API can say, and what Groundwire does where it cannot. The tables are made by asking the codecs: "
        "each row is a request, a reply or an error that is written in every dialect. `yes` means that nothing is lost. "
        "Anything else is a warning on the result ([below](#warnings)); `error` means that it is refused because it "
        "would mean something else.",
        "Within one dialect nothing is lost: members that we do not know, signatures, encrypted reasoning and the like go "
        "back to the API they came from, untouched.",
        "A request is read as its dialect allows, and unknown members pass. A body that lacks what the dialect cannot do "
        "without (`messages`, `input` or `contents`), or that has blocks, tools or a system prompt in a form that only "
        "another dialect has, is refused with the name of the dialect that it looks like. OpenAI's two forms of a tool, "
        "nested and flat, are read in both of its dialects. A request of Anthropic without `max_tokens` is read too: the "
        "limit is added when one is sent. A member of the wrong type is refused with its path.",
        "## Requests",
        table(("what", *DIALECTS), [(name, *map(_cell, _each(request))) for name, request in REQUESTS.items()]),
        "## How a reply ended",
        "What a client of each dialect is told, for each reason in our words. `error` is a failure instead of an answer; in "
        "a stream it is an error event after what came before it. Where a stream is told otherwise than a whole answer, "
        "both are given.",
        table(("reason", *DIALECTS), [(code(reason), *_finishes(reason)) for reason in FinishReason]),
        "## Errors",
        "Status and kind with which a failure goes to a client of each dialect.",
        table(("failure", *DIALECTS), [(code(kind), *_errors(kind)) for kind in FailureKind]),
        "## Warnings",
        "The path of a warning leads to the place in the canonical request or reply: `sampling.seed`, "
        "`items[3].parts[0]`, `extras.gemini.safetySettings`. Places are those of the value as it was given. What a "
        "Responses answer repeats of its request, and what is null or default in it, is no loss and not warned about.",
        table(("code", "meaning"), [(code(name), meaning) for name, meaning in WIRE_WARNINGS.items()]),
    )


def _each(request: ModelRequest) -> Iterable[str]:
    for dialect in DIALECTS:
        codec = codec_of(dialect)
        try:
            encoded = codec.encode_request(request)
        except GroundwireError:
            yield "error"
            continue
        yield ", ".join(dict.fromkeys(warning.code for warning in encoded.warnings))


def _cell(codes: str) -> str:
    return ", ".join(code(name) for name in codes.split(", ")) if codes else "yes"


def _finishes(reason: FinishReason) -> Iterable[str]:
    items: tuple[Item, ...] = (_CALL,) if reason == FinishReason.TOOL_CALLS else (say("assistant", "so"),)
    reply = Reply(reply_id="r", model="m", created=0, items=items, finish=Finish(reason=reason), usage=Usage())
    for dialect in DIALECTS:
        try:
            body = codec_of(dialect).encode_response(reply).body
        except GroundwireError:
            yield "error"
            continue
        is_alike = _fails_streamed(dialect, reply) == (codec_of(dialect).failure_in(body) is not None)
        yield code(_finish_in(dialect, body)) + ("" if is_alike else ", streamed: error")


def _fails_streamed(dialect: Dialect, reply: Reply) -> bool:
    encoder, decoder = codec_of(dialect).StreamEncoder(), codec_of(dialect).StreamDecoder()
    events = b"".join([encoder.feed(part) for part in parts_of(reply)]) + encoder.finish()
    return isinstance((decoder.feed(events) + decoder.finish())[-1], ReplyFailed)


def _finish_in(dialect: Dialect, body: dict[str, Any]) -> str:
    if dialect == "openai-chat":
        return str(body["choices"][0]["finish_reason"])
    if dialect == "anthropic":
        return str(body["stop_reason"])
    if dialect == "gemini":
        candidates = body.get("candidates")
        return str(
            candidates[0].get("finishReason") if candidates else body.get("promptFeedback", {}).get("blockReason")
        )
    reason = (body.get("incomplete_details") or {}).get("reason")
    return f"{body['status']}: {reason}" if reason else str(body["status"])


def _errors(kind: FailureKind) -> Iterable[str]:
    for dialect in DIALECTS:
        status, body = codec_of(dialect).encode_error(Failure(kind=kind, message="m"))
        error: Any = body["error"]
        name = error.get("status") if dialect == "gemini" else error.get("type")
        yield f"{status} {code(str(name))}"
