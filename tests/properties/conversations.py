"""Strategies for canonical conversations, requests and replies, odd ones included.

Private data, extras and native entries of a dialect hold the text that `mark_of` gives, so that a test can see whether
they stayed with their own dialect.
"""

import functools

from hypothesis import strategies as st

from groundwire.codecs.dialects import codec_of
from groundwire.contracts.calls import ToolCall
from groundwire.contracts.messages import (
    CallItem,
    Citation,
    MediaPart,
    Message,
    NativeItem,
    NativePart,
    ReasoningItem,
    RefusalPart,
    ResultItem,
    TextPart,
)
from groundwire.contracts.replies import Finish, FinishReason, Reply, Usage
from groundwire.contracts.requests import (
    DIALECTS,
    FunctionTool,
    ModelRequest,
    NativeTool,
    OutputFormat,
    ReasoningOptions,
    Sampling,
    ToolChoice,
)
from tests.codecs.recordings import load, recordings


def mark_of(dialect):
    return f"only for {dialect}"


WORDS = st.text(alphabet=st.characters(exclude_categories=("Cs",)), min_size=1, max_size=8)
ODD_WORDS = st.sampled_from(
    ["", " ", "\n", "a ", " b", "é", "🦊", "\u202ex", "e\u0301", "\x00", "\u2028", "{}", '{"error": 1}']
)
TEXTS = WORDS | ODD_WORDS
DIALECT = st.sampled_from(DIALECTS)

CALL_PRIVATE = {
    "openai-chat": {"extra_content": {"vendor": mark_of("openai-chat")}},
    "openai-responses": {"id": mark_of("openai-responses").replace(" ", "_"), "status": "completed"},
    "anthropic": {"cache_control": {"type": "ephemeral", "x": mark_of("anthropic")}},
    "gemini": {"thoughtSignature": mark_of("gemini")},
}
PART_PRIVATE = {
    "openai-chat": {"x_vendor": mark_of("openai-chat")},
    "openai-responses": {"x_vendor": mark_of("openai-responses")},
    "anthropic": {"cache_control": {"type": "ephemeral", "x": mark_of("anthropic")}},
    "gemini": {"partMetadata": {"x": mark_of("gemini")}},
}
REASONING_PRIVATE = {
    "openai-chat": {"_field": "reasoning_content"},
    "openai-responses": {
        "id": "rs_1",
        "summary": [{"type": "summary_text", "text": "thought"}],
        "encrypted_content": mark_of("openai-responses"),
    },
    "anthropic": {"signature": mark_of("anthropic")},
    "gemini": {"thoughtSignature": mark_of("gemini")},
}
NATIVE_ITEMS = {
    "openai-responses": {"type": "web_search_call", "id": "ws_1", "status": "completed", "x": mark_of("openai-responses")},
    "anthropic": {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"q": mark_of("anthropic")}},
    "gemini": {"executableCode": {"language": "PYTHON", "code": mark_of("gemini")}},
}  # fmt: skip
NATIVE_PARTS = {
    "openai-chat": {"type": "vendor_part", "x": mark_of("openai-chat")},
    "openai-responses": {"type": "input_vendor", "x": mark_of("openai-responses")},
    "anthropic": {"type": "search_result", "title": "t", "source": "s", "content": [{"type": "text", "text": mark_of("anthropic")}]},
    "gemini": {"vendorPart": {"x": mark_of("gemini")}},
}  # fmt: skip
NATIVE_TOOLS = {
    "openai-responses": {"type": "web_search", "x": mark_of("openai-responses")},
    "anthropic": {"type": "web_search_20250305", "name": "web_search", "x": mark_of("anthropic")},
    "gemini": {"googleSearch": {"x": mark_of("gemini")}},
}


def private(table):
    """Mostly none, else of one or two dialects."""
    some = st.lists(st.sampled_from(sorted(table)), min_size=1, max_size=2, unique=True)
    return st.one_of(st.just({}), st.just({}), some.map(lambda names: {name: table[name] for name in names}))


URLS = st.sampled_from(["https://example.com/a.png", "https://example.com/b.pdf", "https://example.com/c"])
CITATIONS = st.builds(
    Citation, url=URLS, title=st.none() | st.just("A title"), start=st.just(0), end=st.integers(0, 3)
) | st.just(Citation(title="no address", private={"anthropic": {"type": "char_location", "cited_text": "x"}}))
MEDIA_TYPES = st.sampled_from(
    ["image/png", "image/*", "image/tiff", "audio/wav", "audio/ogg", "video/mp4", "application/pdf", "text/plain"]
)
MEDIA = st.one_of(
    st.builds(MediaPart, media_type=MEDIA_TYPES, data=st.sampled_from([b"", b"\x00\xff", b"plain"])),
    st.builds(MediaPart, media_type=MEDIA_TYPES, url=URLS, name=st.none() | st.just("file.pdf")),
    st.builds(
        MediaPart,
        media_type=MEDIA_TYPES,
        file_id=st.sampled_from(["file-1", "file_1", "files/1", "gs://bucket/1", "other"]),
    ),
)
PLAIN_TEXT = st.builds(TextPart, text=TEXTS)
TEXT_PARTS = st.one_of(
    PLAIN_TEXT,
    st.builds(
        TextPart, text=TEXTS, citations=st.lists(CITATIONS, max_size=2).map(tuple), private=private(PART_PRIVATE)
    ),
)
NATIVE = st.sampled_from(sorted(NATIVE_PARTS)).map(lambda name: NativePart(origin=name, value=NATIVE_PARTS[name]))
PARTS = st.one_of(PLAIN_TEXT, TEXT_PARTS, MEDIA, NATIVE)
SPLIT = st.sampled_from([False, False, False, True])
ROLES = st.sampled_from(["user", "user", "assistant", "assistant", "system", "developer", "critic"])


@st.composite
def messages(draw):
    role = draw(ROLES)
    parts = draw(st.lists(PARTS if role == "user" else PLAIN_TEXT | TEXT_PARTS, max_size=3))
    if role == "assistant":
        parts += draw(st.lists(st.builds(RefusalPart, text=TEXTS) | MEDIA | NATIVE, max_size=1))
    return Message(role=role, parts=tuple(parts), split=draw(SPLIT))


IDS = st.sampled_from(
    ["call_1", "call_1", "call_2", "toolu_3", "functions.f:0", "a b", "fc_1|call_1", "x" * 65, "y" * 41, "é", ""]
)
NAMES = st.sampled_from(
    ["get_weather", "search", "a.b", "a_b", "tool with spaces", "n" * 70, "n" * 140, "9lives", "ünïcode", "-x"]
)
ARGUMENTS = st.sampled_from([
    "{}", '{"a": 1}', '{"big": 12345678901234567890123}', '{"input": "x"}', '{"ü": [null, {"b": 0.5}]}', "", " ",
    "[1]", "3", '"text"', "null", '{"a":', "not json", '{"_raw_arguments": "x"}', '{"a": 1}{"a": 1}',
])  # fmt: skip
CALLS = st.builds(
    CallItem,
    call=st.builds(ToolCall, call_id=IDS, name=NAMES, raw=ARGUMENTS),
    complete=st.sampled_from([True, True, False]),
    split=SPLIT,
    private=private(CALL_PRIVATE),
)
RESULT_TEXTS = TEXTS | st.sampled_from(
    ['{"a": 1}', '{"output": "x"}', '{"output": 1}', '{"error": "x"}', "[1]", "3", '{"a": 1} more']
)
RESULT_PARTS = st.one_of(
    st.just(()),
    st.builds(TextPart, text=RESULT_TEXTS).map(lambda part: (part,)),
    st.lists(st.one_of(st.builds(TextPart, text=RESULT_TEXTS), MEDIA), max_size=3).map(tuple),
)
RESULTS = st.builds(
    ResultItem, call_id=IDS, name=st.just("") | NAMES, parts=RESULT_PARTS, failed=st.booleans(), split=SPLIT,
    private=private({"anthropic": PART_PRIVATE["anthropic"]}),
)  # fmt: skip
REASONING = st.builds(ReasoningItem, text=TEXTS, split=SPLIT, private=private(REASONING_PRIVATE))
NATIVES = st.builds(
    lambda name, split: NativeItem(origin=name, value=NATIVE_ITEMS[name], split=split),
    st.sampled_from(sorted(NATIVE_ITEMS)),
    SPLIT,
)


@st.composite
def steps(draw):
    """What a model that behaves does: think, speak, call, and get each result."""
    calls = draw(st.lists(CALLS, min_size=1, max_size=3))
    before = draw(st.lists(REASONING | messages(), max_size=2))
    results = [draw(RESULTS) for _ in calls]
    paired = [
        ResultItem(call_id=call.call.call_id, name=call.call.name, parts=result.parts, failed=result.failed)
        for call, result in zip(calls, results, strict=True)
    ]
    return [*before, *calls, *(draw(st.permutations(paired)) if draw(st.booleans()) else paired)]


@functools.cache
def recorded_items():
    """Real items with all that their codecs noted on them."""
    found = []
    for dialect, file in recordings():
        recording = load(file)
        request = codec_of(dialect).decode_request(recording["request"], model=recording["model"])
        found.extend(request.items)
        if not recording["stream"]:
            found.extend(codec_of(dialect).decode_response(recording["response"]).items)
    return [item for item in found if item.kind != "message" or len(str(item)) < 4000]


LOOSE = st.one_of(messages(), CALLS, RESULTS, REASONING, NATIVES)
HISTORIES = st.lists(steps() | LOOSE.map(lambda item: [item]), max_size=6).map(
    lambda runs: tuple(item for run in runs for item in run)
)
RECORDED_HISTORIES = st.lists(st.deferred(lambda: st.sampled_from(recorded_items())), max_size=8).map(tuple)
CONVERSATIONS = st.one_of(HISTORIES, HISTORIES, RECORDED_HISTORIES)

SCHEMAS = st.sampled_from([
    {"type": "object", "properties": {}},
    {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"], "additionalProperties": False},
    {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "integer", "default": 3}}},
    {"type": "object", "properties": {"title": {"type": "string"}, "type": {"const": 1}, "$ref": {}}},
    {"type": "object", "properties": {"a": {"$ref": "#/$defs/a"}}, "$defs": {"a": {"type": ["string", "null"]}}},
    {"type": "object", "properties": {"a": {"$ref": "#"}}},
    {"oneOf": [{"type": "object", "properties": {"a": {"type": "array"}}}, {"type": "object"}]},
    {"anyOf": [{"required": ["a"]}, {"required": ["b"]}], "type": "object", "properties": {"a": {}, "b": True}},
    {"type": "object", "properties": {"a b": {"exclusiveMinimum": 1}}, "patternProperties": {"^x": False}},
    {"$schema": "https://json-schema.org/draft/2020-12/schema"},
    {},
])  # fmt: skip
FUNCTIONS = st.builds(
    FunctionTool,
    name=NAMES,
    description=st.none() | st.sampled_from(["", "Does it.", "d" * 1100]),
    parameters=st.none() | SCHEMAS,
    strict=st.none() | st.booleans(),
    private=private(PART_PRIVATE),
) | st.builds(
    FunctionTool,
    name=NAMES,
    description=st.none(),
    freeform=st.sampled_from([{"type": "text"}, {"type": "grammar", "syntax": "lark", "definition": "start: /a/"}]),
)
TOOLS = st.lists(FUNCTIONS, max_size=4, unique_by=lambda tool: tool.name).flatmap(
    lambda tools: st.lists(
        st.sampled_from(sorted(NATIVE_TOOLS)).map(lambda name: NativeTool(origin=name, value=NATIVE_TOOLS[name])),
        max_size=1,
    ).map(lambda natives: (*tools, *natives))
)
UNIT = st.sampled_from([0.0, 0.5, 1.0])
SAMPLING = st.builds(
    Sampling,
    temperature=st.none() | st.sampled_from([0.0, 0.7, 1.5]),
    top_p=st.none() | UNIT,
    top_k=st.none() | st.just(40),
    seed=st.none() | st.just(7),
    presence_penalty=st.none() | UNIT,
    frequency_penalty=st.none() | UNIT,
    stop=st.sampled_from([(), ("END",), (" ", "x")]),
    count=st.none() | st.sampled_from([1, 2]),
)
FORMATS = st.one_of(
    st.builds(OutputFormat, type=st.sampled_from(["text", "json"])),
    st.builds(
        OutputFormat, type=st.just("schema"), schema=SCHEMAS, name=st.none() | st.just("answer"),
        strict=st.none() | st.booleans(),
    ),
)  # fmt: skip
EFFORTS = st.none() | st.sampled_from(["none", "minimal", "low", "medium", "high", "xhigh", "odd"])
BUDGETS = st.none() | st.sampled_from([0, -1, 100, 2048, 10**6])
THINKING = st.builds(ReasoningOptions, effort=EFFORTS, budget=BUDGETS, summary=st.none() | st.booleans())
EXTRAS = {dialect: {"x_member": mark_of(dialect)} for dialect in DIALECTS}


@st.composite
def requests(draw, items=CONVERSATIONS):
    tools = draw(TOOLS)
    names = [tool.name for tool in tools if tool.kind == "function"]
    choices = st.builds(
        ToolChoice,
        mode=st.sampled_from(["auto", "none", "required"]),
        names=st.lists(st.sampled_from(names), max_size=2, unique=True).map(tuple) if names else st.just(()),
    )
    return ModelRequest(
        model="a-model",
        items=draw(items),
        instructions=tuple(draw(st.lists(TEXT_PARTS, max_size=2))),
        tools=tools,
        tool_choice=draw(st.none() | choices),
        parallel_calls=draw(st.none() | st.booleans()),
        sampling=draw(st.just(Sampling()) | SAMPLING),
        max_output_tokens=draw(st.none() | st.sampled_from([16, 4096])),
        output=draw(st.none() | FORMATS),
        reasoning=draw(st.none() | THINKING),
        stream=draw(st.booleans()),
        extras=draw(private(EXTRAS)),
    )


SPOKEN = st.builds(
    Message,
    role=st.just("assistant"),
    parts=st.lists(TEXT_PARTS | st.builds(RefusalPart, text=WORDS), min_size=1, max_size=2).map(tuple),
)
ANSWERS = st.lists(st.one_of(SPOKEN, SPOKEN, CALLS, CALLS, REASONING, NATIVES), max_size=4).map(tuple)


@st.composite
def replies(draw):
    return Reply(
        reply_id=draw(st.sampled_from(["", "reply_1"])),
        model=draw(st.sampled_from(["", "a-model"])),
        created=draw(st.none() | st.just(1_700_000_000)),
        items=draw(ANSWERS),
        finish=Finish(
            reason=draw(st.sampled_from(list(FinishReason))),
            raw=draw(st.none() | st.sampled_from(["stop", "STOP", "end_turn", "tool_use", "completed", "odd"])),
            detail=draw(st.none() | st.just("because")),
        ),
        usage=draw(st.none() | st.builds(Usage, input=st.just(3), output=st.just(4), cached=st.none() | st.just(1))),
        extras=draw(private(EXTRAS)),
    )
