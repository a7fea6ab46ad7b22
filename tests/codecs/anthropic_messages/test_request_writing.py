import pytest
from anthropic.types.message_create_params import MessageCreateParamsNonStreaming
from pydantic import TypeAdapter

from groundwire.codecs import anthropic_messages
from groundwire.codecs.anthropic_messages import Profile
from groundwire.contracts.calls import ToolCall
from groundwire.contracts.errors import NotExpressible
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
    say,
)
from groundwire.contracts.requests import (
    FunctionTool,
    ModelRequest,
    NativeTool,
    OutputFormat,
    ReasoningOptions,
    Sampling,
    ToolChoice,
)

OLD = Profile(version="2023-06-01")
VALID = TypeAdapter(MessageCreateParamsNonStreaming)
TOOLS = tuple(FunctionTool(name=name, parameters={"type": "object", "properties": {}}) for name in "fgh")
HELLO = say("user", "hi")


def call(call_id="toolu_1", raw="{}", name="f", **members):
    return CallItem(call=ToolCall(call_id=call_id, name=name, raw=raw), **members)


def result(call_id="toolu_1", text="42", **members):
    return ResultItem(call_id=call_id, parts=(TextPart(text=text),), **members)


def encode(*items, profile=None, **members):
    """Written, and found good by the SDK's types."""
    request = ModelRequest(model="claude-x", items=items or (HELLO,), **members)
    written = anthropic_messages.encode_request(request, profile=profile or Profile())
    VALID.validate_python(written.body)
    return written


def codes(written):
    return [warning.code for warning in written.warnings]


def text(words):
    return {"type": "text", "text": words}


def user(*blocks):
    return {"role": "user", "content": list(blocks)}


def assistant(*blocks):
    return {"role": "assistant", "content": list(blocks)}


def test_a_plain_request_has_a_limit_because_the_api_wants_one():
    written = encode()

    assert written.body == {"model": "claude-x", "max_tokens": 4096, "messages": [user(text("hi"))]}
    assert written.warnings == ()
    assert encode(profile=Profile(default_max_tokens=99)).body["max_tokens"] == 99
    assert encode(max_output_tokens=0).body["max_tokens"] == 0


def test_instructions_and_leading_system_messages_are_the_system_prompt():
    assert encode(instructions=(TextPart(text="a"),)).body["system"] == "a"
    written = encode(say("developer", "b"), say("system", "c"), HELLO, instructions=(TextPart(text="a"),))

    assert written.body["system"] == [text("a"), text("b"), text("c")]
    assert written.body["messages"] == [user(text("hi"))]
    assert written.warnings == ()


def test_a_later_system_message_stays_where_the_model_takes_it_and_is_the_users_elsewhere():
    items = (HELLO, say("assistant", "a"), say("developer", "be kind"), say("user", "b"))
    kept = encode(*items)
    changed = encode(*items, profile=Profile(allows_system_messages=False))

    assert kept.body["messages"][2] == {"role": "system", "content": [text("be kind")]}
    assert kept.warnings == ()
    assert changed.body["messages"][2] == user(text("<system>be kind</system>"), text("b"))
    assert codes(changed) == ["role_changed"]


def test_an_unknown_role_speaks_as_the_user():
    written = encode(say("critic", "no"))

    assert written.body["messages"] == [user(text("no"))]
    assert codes(written) == ["role_changed"]


@pytest.mark.quirk(78)
def test_neighbours_of_one_speaker_share_a_message_unless_split():
    written = encode(
        HELLO,
        say("assistant", "a"),
        call(),
        call("toolu_2"),
        result(),
        result("toolu_2", split=True),
        say("user", "b"),
        Message(role="user", parts=(TextPart(text="c"),), split=True),
    )

    assert written.body["messages"] == [
        user(text("hi")),
        assistant(
            text("a"),
            {"type": "tool_use", "id": "toolu_1", "name": "f", "input": {}},
            {"type": "tool_use", "id": "toolu_2", "name": "f", "input": {}},
        ),
        user(
            {"type": "tool_result", "tool_use_id": "toolu_1", "content": "42"},
            {"type": "tool_result", "tool_use_id": "toolu_2", "content": "42"},
            text("b"),
        ),
        user(text("c")),
    ]
    assert written.warnings == ()


@pytest.mark.quirk(70)
def test_a_call_without_result_gets_one_that_says_so():
    written = encode(HELLO, call(), say("user", "never mind"))

    assert written.body["messages"][2] == user(
        {
            "type": "tool_result",
            "tool_use_id": "toolu_1",
            "content": "This call was cancelled; it has no result.",
            "is_error": True,
        },
        text("never mind"),
    )
    assert codes(written) == ["result_added"]


@pytest.mark.quirk(68)
def test_results_come_before_what_the_user_said_in_between():
    written = encode(HELLO, call(), call("toolu_2"), result(), say("user", "hurry"), result("toolu_2"))

    assert [block["type"] for block in written.body["messages"][2]["content"]] == ["tool_result", "tool_result", "text"]
    assert codes(written) == ["message_moved"]


@pytest.mark.quirk(68)
def test_empty_texts_are_left_out_wherever_they_stand():
    written = encode(
        Message(role="user", parts=(TextPart(text=""), TextPart(text="hi"))),
        Message(role="assistant", parts=(TextPart(text="\n\n"),)),
        call(),
        ResultItem(call_id="toolu_1", parts=(TextPart(text=" "), TextPart(text="x"))),
        say("assistant", ""),
        say("user", "b"),
        instructions=(TextPart(text=" "),),
    )

    assert "system" not in written.body
    assert written.body["messages"] == [
        user(text("hi")),
        assistant({"type": "tool_use", "id": "toolu_1", "name": "f", "input": {}}),
        user({"type": "tool_result", "tool_use_id": "toolu_1", "content": [text("x")]}),
        user(text("b")),
    ]
    assert set(codes(written)) == {"empty_text_dropped"}


@pytest.mark.parametrize(
    "items", [(say("assistant", "hello"), HELLO), (say("system", "only this"),), (say("user", ""),)]
)
def test_a_conversation_that_does_not_begin_with_the_user_gets_a_beginning(items):
    written = encode(*items)

    assert written.body["messages"][0] == user(text("(The conversation begins here.)"))
    assert "placeholder_added" in codes(written)


@pytest.mark.quirk(68)
def test_whitespace_behind_a_prefill_is_cut():
    written = encode(HELLO, say("assistant", "The answer is \n"))

    assert written.body["messages"][1] == assistant(text("The answer is"))
    assert codes(written) == ["empty_text_dropped"]


@pytest.mark.quirk(68)
def test_a_prefill_is_followed_by_the_user_where_the_model_refuses_it():
    written = encode(HELLO, say("assistant", "The answer is "), profile=Profile(allows_prefill=False))

    assert written.body["messages"][1:] == [assistant(text("The answer is ")), user(text("Continue."))]
    assert codes(written) == ["placeholder_added"]


@pytest.mark.quirk(88)
def test_a_paused_turn_is_sent_back_as_it_is():
    search = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}}
    written = encode(HELLO, NativeItem(origin="anthropic", value=search), profile=Profile(allows_prefill=False))

    assert written.body["messages"][1] == assistant(search)
    assert len(written.body["messages"]) == 2
    assert written.warnings == ()


@pytest.mark.quirk(10)
@pytest.mark.quirk(12)
def test_ids_that_break_the_rule_or_come_twice_are_replaced_on_both_sides():
    written = encode(
        HELLO,
        call("fc_1|call.1"),
        result("fc_1|call.1"),
        call("call_0"),
        result("call_0"),
        call("call_0"),
        result("call_0"),
    )

    blocks = [block for message in written.body["messages"][1:] for block in message["content"]]
    asked = [block["id"] for block in blocks if block["type"] == "tool_use"]
    answered = [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]
    assert asked == answered
    assert len(set(asked)) == 3
    assert asked[1] == "call_0"
    assert all(name.startswith("toolu_") and name.isascii() and len(name) == 30 for name in (asked[0], asked[2]))
    assert codes(written) == ["call_id_rewritten", "call_id_rewritten"]


def test_names_that_break_the_rule_are_replaced_and_lead_back():
    written = encode(
        HELLO,
        call(name="shop.find"),
        result(),
        tools=(FunctionTool(name="shop.find"),),
        tool_choice=ToolChoice(mode="required", names=("shop.find",)),
    )

    assert written.body["tools"][0]["name"] == "shop_find"
    assert written.body["tool_choice"] == {"type": "tool", "name": "shop_find"}
    assert written.body["messages"][1]["content"][0]["name"] == "shop_find"
    assert written.names == {"shop_find": "shop.find"}
    assert codes(written) == ["name_rewritten"]


@pytest.mark.parametrize(
    ("raw", "sent", "losses"),
    [
        ('{"x": 1}', {"x": 1}, []),
        ("{}", {}, []),
        ("[1]", {"_raw_arguments": "[1]"}, ["arguments_not_object"]),
        ('{"x', {"_raw_arguments": '{"x'}, ["arguments_not_object"]),
        ('{"n":9007199254740993}', {"n": 9007199254740993}, []),
    ],
)
@pytest.mark.quirk(25)
def test_arguments_go_out_as_an_object_and_come_back_as_the_same_text(raw, sent, losses):
    written = encode(HELLO, call(raw=raw), result())

    assert written.body["messages"][1]["content"][0]["input"] == sent
    assert codes(written) == losses
    again = anthropic_messages.decode_request(written.body).items[1]
    assert isinstance(again, CallItem)
    assert again.call.raw.replace(" ", "") == raw.replace(" ", "")


def test_a_tool_for_plain_text_is_offered_with_one_argument():
    written = encode(
        HELLO,
        call(raw="print(1)", name="run"),
        result(),
        tools=(FunctionTool(name="run", freeform={"type": "text"}),),
    )

    assert written.body["tools"][0]["input_schema"]["required"] == ["input"]
    assert written.body["messages"][1]["content"][0]["input"] == {"input": "print(1)"}
    assert codes(written) == ["option_dropped"]


@pytest.mark.quirk(71)
def test_reasoning_goes_back_only_with_the_providers_signature():
    written = encode(
        HELLO,
        ReasoningItem(text="mine", private={"anthropic": {"signature": "S"}}),
        ReasoningItem(text="unsigned", private={"anthropic": {"signature": ""}}),
        ReasoningItem(text="theirs", private={"gemini": {"thoughtSignature": "G"}}),
        ReasoningItem(text="plain"),
        say("assistant", "a"),
        say("user", "b"),
    )

    assert written.body["messages"][1] == assistant(
        {"type": "thinking", "thinking": "mine", "signature": "S"}, text("a")
    )
    assert codes(written) == ["reasoning_dropped", "private_dropped", "reasoning_dropped", "reasoning_dropped"]


def test_what_only_another_provider_understands_is_left_out_and_told():
    written = encode(
        Message(
            role="user",
            parts=(
                TextPart(text="hi", private={"gemini": {"thoughtSignature": "x"}}),
                NativePart(origin="gemini", value={}),
            ),
            private={"openai-chat": {"_shape": True}},
        ),
        NativeItem(origin="openai-responses", value={"type": "web_search_call"}),
        tools=(NativeTool(origin="gemini", value={"googleSearch": {}}),),
        extras={"openai-chat": {"user": "u", "_hint": 1}},
    )

    assert written.body == {"model": "claude-x", "max_tokens": 4096, "messages": [user(text("hi"))]}
    assert sorted(codes(written)) == [
        "extra_dropped",
        "native_dropped",
        "native_dropped",
        "private_dropped",
        "tool_dropped",
    ]


def test_private_data_of_another_provider_on_a_message_is_told():
    written = encode(Message(role="user", parts=(TextPart(text="hi"),), private={"openai-responses": {"id": "msg_1"}}))

    assert written.body["messages"] == [user(text("hi"))]
    assert codes(written) == ["private_dropped"]


def test_a_refusal_is_the_assistants_text():
    written = encode(HELLO, Message(role="assistant", parts=(RefusalPart(text="No."),)), HELLO)

    assert written.body["messages"][1] == assistant(text("No."))


@pytest.mark.parametrize(
    ("part", "block"),
    [
        (
            MediaPart(media_type="image/jpg", data=b"x"),
            {"type": "image", "source": {"type": "base64", "media_type": "image/jpeg", "data": "eA=="}},
        ),
        (
            MediaPart(media_type="image/*", url="https://e.org/a"),
            {"type": "image", "source": {"type": "url", "url": "https://e.org/a"}},
        ),
        (
            MediaPart(media_type="application/pdf", data=b"x", name="a.pdf"),
            {
                "type": "document",
                "source": {"type": "base64", "media_type": "application/pdf", "data": "eA=="},
                "title": "a.pdf",
            },
        ),
        (
            MediaPart(media_type="text/csv", data=b"a,b"),
            {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "a,b"}},
        ),
        (
            MediaPart(media_type="application/pdf", file_id="file_1"),
            {"type": "document", "source": {"type": "file", "file_id": "file_1"}},
        ),
    ],
)
def test_media_that_the_api_takes_is_sent(part, block):
    written = encode(Message(role="user", parts=(part,)), call(), ResultItem(call_id="toolu_1", parts=(part,)))

    assert written.body["messages"][0] == user(block)
    assert written.body["messages"][2]["content"][0]["content"] == [block]
    assert written.warnings == ()


@pytest.mark.quirk(69)
@pytest.mark.parametrize(
    ("part", "note"),
    [
        (MediaPart(media_type="audio/wav", data=b"x"), "[audio/wav left out]"),
        (MediaPart(media_type="video/mp4", url="https://e.org/v"), "[video/mp4 left out: https://e.org/v]"),
        (MediaPart(media_type="image/tiff", data=b"x", name="scan"), "[image/tiff left out: scan]"),
        (MediaPart(media_type="image/png", url="gs://bucket/a"), "[image/png left out: gs://bucket/a]"),
        (MediaPart(media_type="application/pdf", file_id="file-abc"), "[application/pdf left out: file-abc]"),
        (MediaPart(media_type="text/plain", data=b"\xff"), "[text/plain left out]"),
    ],
)
def test_media_that_the_api_does_not_take_is_noted_in_words(part, note):
    written = encode(Message(role="user", parts=(part,)), call(), ResultItem(call_id="toolu_1", parts=(part,)))

    assert written.body["messages"][0] == user(text(note))
    assert written.body["messages"][2]["content"][0]["content"] == [text(note)]
    assert codes(written) == ["media_dropped", "media_dropped"]


def test_the_newer_version_takes_no_document_from_the_assistant_and_no_citation_from_the_user():
    document = Message(role="assistant", parts=(MediaPart(media_type="application/pdf", data=b"x", name="a"),))
    own = Citation(quote="q", private={"anthropic": {"type": "char_location", "cited_text": "q"}})
    cited = Message(role="user", parts=(TextPart(text="t", citations=(own,)),))
    newer = encode(HELLO, document, cited, profile=Profile(version="2026-10-21"))
    older = anthropic_messages.encode_request(ModelRequest(model="m", items=(HELLO, document, cited)), profile=OLD)

    assert newer.body["messages"][1:] == [assistant(text("[application/pdf left out: a]")), user(text("t"))]
    assert codes(newer) == ["media_dropped", "citation_dropped"]
    assert older.body["messages"][1]["content"][0]["type"] == "document"
    assert older.body["messages"][2]["content"][0]["citations"] == [{"type": "char_location", "cited_text": "q"}]
    assert older.warnings == ()


def test_citations_of_another_provider_are_left_out():
    cited = Message(role="assistant", parts=(TextPart(text="t", citations=(Citation(url="https://e.org"),)),))
    written = encode(HELLO, cited, HELLO)

    assert written.body["messages"][1] == assistant(text("t"))
    assert codes(written) == ["citation_dropped"]


@pytest.mark.parametrize(
    ("choice", "parallel", "sent", "offered", "losses"),
    [
        (None, None, None, "fgh", []),
        (None, True, None, "fgh", []),
        (None, False, {"type": "auto", "disable_parallel_tool_use": True}, "fgh", []),
        (ToolChoice(), None, {"type": "auto"}, "fgh", []),
        (ToolChoice(mode="none"), False, {"type": "none"}, "fgh", []),
        (ToolChoice(mode="required"), None, {"type": "any"}, "fgh", []),
        (ToolChoice(mode="required"), False, {"type": "any", "disable_parallel_tool_use": True}, "fgh", []),
        (ToolChoice(mode="required", names=("g",)), None, {"type": "tool", "name": "g"}, "fgh", []),
        (ToolChoice(mode="required", names=("f", "h")), None, {"type": "any"}, "fh", ["choice_approximated"]),
        (ToolChoice(mode="auto", names=("h",)), None, {"type": "auto"}, "h", ["choice_approximated"]),
    ],
)
def test_tool_choices_are_written(choice, parallel, sent, offered, losses):
    written = encode(tools=TOOLS, tool_choice=choice, parallel_calls=parallel)

    assert written.body.get("tool_choice") == sent
    assert [tool["name"] for tool in written.body["tools"]] == list(offered)
    assert codes(written) == losses


OWN_BUDGET = ReasoningOptions(
    budget=2000, private={"anthropic": {"thinking": {"type": "enabled", "budget_tokens": 2000}}}
)


@pytest.mark.quirk(69)
@pytest.mark.parametrize(
    ("members", "profile"),
    [
        ({"reasoning": OWN_BUDGET}, Profile()),
        ({}, Profile(allows_forced_choice=False)),
        ({"reasoning": ReasoningOptions(budget=2000)}, Profile(allows_forced_choice=False)),
    ],
)
def test_a_choice_that_cannot_be_forced_is_left_to_the_model(members, profile):
    one = encode(tools=TOOLS, tool_choice=ToolChoice(mode="required", names=("g",)), profile=profile, **members)
    some = encode(tools=TOOLS, tool_choice=ToolChoice(mode="required"), profile=profile, **members)

    assert one.body["tool_choice"] == some.body["tool_choice"] == {"type": "auto"}
    assert [tool["name"] for tool in one.body["tools"]] == ["g"]
    assert len(some.body["tools"]) == 3
    assert set(codes(one)) == set(codes(some)) == {"choice_approximated"}


@pytest.mark.quirk(69)
@pytest.mark.parametrize("reasoning", [ReasoningOptions(effort="low"), ReasoningOptions(budget=9000)])
def test_thinking_gives_way_to_a_call_that_is_forced(reasoning):
    written = encode(tools=TOOLS, tool_choice=ToolChoice(mode="required", names=("g",)), reasoning=reasoning)

    assert written.body["tool_choice"] == {"type": "tool", "name": "g"}
    assert "thinking" not in written.body
    assert written.body["max_tokens"] == 4096
    assert [(warning.code, warning.path) for warning in written.warnings] == [("option_dropped", "reasoning")]


@pytest.mark.parametrize("choice", [ToolChoice(mode="auto"), ToolChoice(mode="none"), None])
def test_thinking_stays_where_no_call_is_forced(choice):
    written = encode(tools=TOOLS, tool_choice=choice, reasoning=ReasoningOptions(effort="low"))
    without_tools = encode(tool_choice=ToolChoice(mode="required"), reasoning=ReasoningOptions(effort="low"))

    assert written.body["thinking"] == without_tools.body["thinking"] == {"type": "adaptive"}
    assert written.body["output_config"] == {"effort": "low"}


def test_adaptive_thinking_of_this_dialect_stays_beside_a_forced_choice():
    own = ReasoningOptions(private={"anthropic": {"thinking": {"type": "adaptive"}}})
    written = encode(tools=TOOLS, tool_choice=ToolChoice(mode="required"), reasoning=own)

    assert written.body["tool_choice"] == {"type": "any"}
    assert written.body["thinking"] == {"type": "adaptive"}
    assert written.warnings == ()


def test_a_tool_of_another_provider_is_told_as_lost_also_where_others_are_to_be_chosen():
    search = NativeTool(origin="gemini", value={"googleSearch": {}})
    written = encode(tools=(search, *TOOLS), tool_choice=ToolChoice(mode="auto", names=("f", "g")))

    assert [tool["name"] for tool in written.body["tools"]] == ["f", "g"]
    assert [(warning.code, warning.path) for warning in written.warnings] == [
        ("tool_dropped", "tools[0]"), ("choice_approximated", "tool_choice"),
    ]  # fmt: skip


def test_a_choice_without_tools_is_not_sent():
    written = encode(tool_choice=ToolChoice(mode="auto"), parallel_calls=False)
    required = encode(tool_choice=ToolChoice(mode="required"))

    assert "tool_choice" not in written.body
    assert written.warnings == ()
    assert codes(required) == ["choice_approximated"]
    with pytest.raises(NotExpressible):
        encode(tools=TOOLS, tool_choice=ToolChoice(mode="required", names=("x", "y")))


@pytest.mark.quirk(59)
@pytest.mark.parametrize("profile", [Profile(version="2026-10-21"), Profile(allows_sampling=False)])
def test_sampling_is_left_out_where_it_is_refused(profile):
    written = encode(sampling=Sampling(temperature=0.5, top_p=0.5, top_k=3), profile=profile)

    assert not {"temperature", "top_p", "top_k"} & written.body.keys()
    assert [warning.path for warning in written.warnings] == [
        "sampling.temperature",
        "sampling.top_p",
        "sampling.top_k",
    ]
    assert set(codes(written)) == {"option_dropped"}


def test_sampling_is_brought_into_range_and_the_unknown_is_told():
    sampling = Sampling(
        temperature=1.7, top_k=40.0, seed=1, presence_penalty=0.5, frequency_penalty=0.0, count=2, stop=("a", " ")
    )
    written = encode(sampling=sampling, profile=OLD)

    assert (written.body["temperature"], written.body["top_k"], written.body["stop_sequences"]) == (1.0, 40, ["a"])
    assert [(warning.code, warning.path) for warning in written.warnings] == [
        ("option_adjusted", "sampling.temperature"),
        ("option_dropped", "sampling.seed"),
        ("option_dropped", "sampling.presence_penalty"),
        ("option_dropped", "sampling.count"),
        ("option_dropped", "sampling.stop"),
    ]


@pytest.mark.parametrize(
    ("options", "thinking", "effort", "losses"),
    [
        (ReasoningOptions(effort="high"), {"type": "adaptive"}, "high", []),
        (ReasoningOptions(effort="minimal"), {"type": "adaptive"}, "low", ["option_adjusted"]),
        (ReasoningOptions(effort="none"), {"type": "disabled"}, None, []),
        (ReasoningOptions(effort="odd"), {"type": "adaptive"}, None, ["option_dropped"]),
        (ReasoningOptions(budget=0), {"type": "disabled"}, None, []),
        (ReasoningOptions(budget=-1), {"type": "adaptive"}, None, []),
        (ReasoningOptions(budget=2000), {"type": "enabled", "budget_tokens": 2000}, None, []),
        (ReasoningOptions(budget=10), {"type": "enabled", "budget_tokens": 1024}, None, ["option_adjusted"]),
        (ReasoningOptions(effort="low", summary=True), {"type": "adaptive", "display": "summarized"}, "low", []),
        (ReasoningOptions(summary=True), None, None, ["option_dropped"]),
    ],
)
def test_reasoning_options_are_written(options, thinking, effort, losses):
    written = encode(reasoning=options)

    assert written.body.get("thinking") == thinking
    assert written.body.get("output_config") == (None if effort is None else {"effort": effort})
    assert codes(written) == losses


def test_a_budget_fits_into_the_limit():
    grown = encode(reasoning=ReasoningOptions(budget=9000))
    lowered = encode(reasoning=ReasoningOptions(budget=9000), max_output_tokens=3000)
    without = encode(reasoning=ReasoningOptions(budget=9000), max_output_tokens=500)

    assert (grown.body["max_tokens"], grown.body["thinking"]["budget_tokens"]) == (10024, 9000)
    assert (lowered.body["max_tokens"], lowered.body["thinking"]["budget_tokens"]) == (3000, 2999)
    assert codes(lowered) == ["option_adjusted"]
    assert "thinking" not in without.body
    assert codes(without) == ["option_dropped"]


@pytest.mark.parametrize(
    ("accepts", "options", "thinking", "losses"),
    [
        ("adaptive", ReasoningOptions(budget=2000), {"type": "adaptive"}, ["option_adjusted"]),
        ("budget", ReasoningOptions(effort="low"), {"type": "enabled", "budget_tokens": 2048}, ["option_adjusted"]),
        ("none", ReasoningOptions(effort="low"), None, ["option_dropped"]),
        ("none", ReasoningOptions(effort="none"), None, []),
        ("budget", ReasoningOptions(budget=0), {"type": "disabled"}, []),
    ],
)
def test_thinking_takes_the_form_that_the_model_accepts(accepts, options, thinking, losses):
    written = encode(reasoning=options, profile=Profile(thinking=accepts))

    assert written.body.get("thinking") == thinking
    assert codes(written) == losses


@pytest.mark.parametrize("thoughts", [(), (ReasoningItem(text="t", private={"anthropic": {"signature": "S"}}),)])
def test_thinking_is_off_while_a_turn_without_thoughts_goes_on(thoughts):
    written = encode(HELLO, *thoughts, call(), result(), reasoning=ReasoningOptions(budget=2000))

    assert written.body["thinking"]["type"] == ("enabled" if thoughts else "disabled")
    assert codes(written) == ([] if thoughts else ["option_dropped"])


def test_thoughts_anywhere_in_the_turn_keep_thinking_on():
    thought = ReasoningItem(text="t", private={"anthropic": {"signature": "S"}})
    again = encode(
        HELLO, thought, call(), result(), call("toolu_2"), result("toolu_2"), reasoning=ReasoningOptions(budget=2000)
    )
    earlier = encode(
        HELLO, thought, say("assistant", "a"), HELLO, call(), result(), reasoning=ReasoningOptions(budget=2000)
    )
    new_turn = encode(HELLO, call(), result(), say("assistant", "a"), HELLO, reasoning=ReasoningOptions(budget=2000))

    assert again.body["thinking"]["type"] == "enabled"
    assert earlier.body["thinking"]["type"] == "disabled"
    assert new_turn.body["thinking"]["type"] == "enabled"


def test_an_output_schema_of_another_dialect_is_closed_and_named():
    schema = {
        "type": "object",
        "properties": {
            "n": {"type": "integer", "minimum": 1},
            "e": {"oneOf": [{"type": "string"}, {"$ref": "#/$defs/E"}]},
        },
        "required": ["n"],
        "$defs": {"E": {"type": "object", "properties": {}, "additionalProperties": {"type": "string"}}},
    }
    written = encode(output=OutputFormat(type="schema", schema=schema, name="answer", description="The answer"))

    assert written.body["output_config"] == {
        "format": {
            "type": "json_schema",
            "schema": {
                "title": "answer",
                "description": "The answer",
                "type": "object",
                "properties": {
                    "n": {"type": "integer", "description": "Must be at least 1."},
                    "e": {"anyOf": [{"type": "string"}, {"$ref": "#/$defs/E"}]},
                },
                "additionalProperties": False,
                "required": ["n"],
                "$defs": {
                    "E": {
                        "type": "object",
                        "properties": {},
                        "additionalProperties": False,
                        "description": 'Other keys take values of this JSON Schema: {"type": "string"}.',
                    }
                },
            },
        }
    }
    assert set(codes(written)) == {"schema"}


def test_json_without_a_schema_is_asked_for_in_words():
    written = encode(output=OutputFormat(type="json"), instructions=(TextPart(text="a"),))

    assert written.body["system"] == [text("a"), text("Answer with one JSON value and nothing else.")]
    assert "output_config" not in written.body
    assert codes(written) == ["format_approximated"]
    assert encode(output=OutputFormat(type="text")).warnings == ()


def test_strict_tools_of_another_dialect_fit_the_providers_subset():
    parameters = {"type": "object", "properties": {"a": {"type": "string", "pattern": "x"}}, "required": ["a"]}
    tool = FunctionTool(name="f", parameters=parameters, strict=True)
    strict = encode(tools=(tool,))
    loose = encode(tools=(tool,), profile=Profile(strict_tools=False))

    assert strict.body["tools"][0]["strict"] is True
    assert strict.body["tools"][0]["input_schema"] == {
        "type": "object",
        "properties": {"a": {"type": "string", "description": "Pattern: x."}},
        "additionalProperties": False,
        "required": ["a"],
    }
    assert codes(strict) == ["schema"]
    assert loose.body["tools"][0] == {"name": "f", "input_schema": parameters}
    assert codes(loose) == ["option_dropped"]


def test_a_tool_schema_becomes_an_object_only_where_it_was_none():
    written = encode(
        tools=(
            FunctionTool(name="a"),
            FunctionTool(name="b", parameters={"type": "object"}),
            FunctionTool(
                name="c", parameters={"anyOf": [{"type": "object", "properties": {"x": {}}}, {"type": "object"}]}
            ),
        )
    )

    schemas = [tool["input_schema"] for tool in written.body["tools"]]
    assert schemas[:2] == [{"type": "object", "properties": {}}, {"type": "object"}]
    assert schemas[2]["type"] == "object"
    assert "anyOf" not in schemas[2]
    assert "schema" in codes(written)


def test_a_long_history_is_written_in_a_time_that_grows_with_its_length():
    items = [HELLO]
    for place in range(3000):
        items += [call(f"toolu_{place}"), result(f"toolu_{place}")]

    assert len(encode(*items).body["messages"]) == 6001


def test_a_conversation_that_would_begin_with_a_system_message_begins_with_the_user():
    search = NativeItem(origin="gemini", value={"executableCode": {}})
    written = encode(search, say("system", "be brief"), HELLO)
    assert [message["role"] for message in written.body["messages"]] == ["user", "system", "user"]
    assert codes(written) == ["native_dropped", "placeholder_added"]


def test_what_a_strict_schema_cannot_say_is_told():
    schema = {"type": "object", "properties": {"a": {"$ref": "#/$defs/x", "minLength": 3}}, "$defs": {"x": {}},
              "anyOf": [{"required": ["a"]}]}  # fmt: skip
    written = encode(output=OutputFormat(type="schema", schema=schema))
    told = [warning.message for warning in written.warnings]
    assert "keyword_dropped: minLength beside $ref is not sent." in told
    assert any(message.startswith("keyword_dropped: required is not sent") for message in told)


def test_sampling_is_left_to_the_model_while_it_thinks_for_another_dialects_request():
    wish = Sampling(temperature=0.3, top_k=5)
    written = encode(sampling=wish, reasoning=ReasoningOptions(budget=2048), max_output_tokens=8000)
    assert written.body["thinking"]["type"] == "enabled"
    assert not {"temperature", "top_k"} & written.body.keys()
    assert codes(written) == ["option_dropped", "option_dropped"]
    neutral = encode(sampling=Sampling(temperature=1), reasoning=ReasoningOptions(budget=2048), max_output_tokens=8000)
    assert neutral.body["temperature"] == 1
    assert neutral.warnings == ()
