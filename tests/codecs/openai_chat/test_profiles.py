import pytest

from groundwire.codecs import openai_chat as chat
from groundwire.codecs.wire.ids import MISTRAL_IDS
from groundwire.contracts.calls import ToolCall
from groundwire.contracts.messages import CallItem, Message, ReasoningItem, ResultItem, TextPart, say
from groundwire.contracts.requests import FunctionTool, ModelRequest, ReasoningOptions, Sampling, ToolChoice
from tests.codecs.openai_chat.support import codes, request, round_trip, tool_call

TOOLS = (FunctionTool(name="f"), FunctionTool(name="g"))
STEP = (
    CallItem(call=ToolCall(call_id="toolu_0123456789", name="f", raw="{}")),
    ResultItem(call_id="toolu_0123456789", parts=(TextPart(text="x"),)),
)


def encode(*items, profile, **members):
    return chat.encode_request(ModelRequest(model="m", items=items, **members), profile=chat.Profile(**profile))


@pytest.mark.quirk(72)
def test_mistral_gets_nine_letters_and_the_name_of_the_tool():
    encoded = encode(say("user", "a"), *STEP, profile={"call_ids": MISTRAL_IDS, "tool_message_name": True})
    _, turn, result = encoded.body["messages"]
    assert len(result["tool_call_id"]) == 9
    assert turn["tool_calls"][0]["id"] == result["tool_call_id"]
    assert result["name"] == "f"


@pytest.mark.quirk(78)
def test_neighbours_of_one_role_are_merged_where_roles_must_alternate():
    items = (
        say("user", "a"),
        say("user", "b"),
        say("assistant", "c"),
        Message(role="assistant", parts=(TextPart(text="d"),), split=True),
    )
    assert encode(*items, profile={"merge_same_role": True}).body["messages"] == [
        {"role": "user", "content": "a\n\nb"},
        {"role": "assistant", "content": "c\n\nd"},
    ]
    assert len(encode(*items, profile={}).body["messages"]) == 4


@pytest.mark.quirk(79)
@pytest.mark.parametrize(("choice", "content"), [("null", None), ("empty", "")])
def test_content_beside_calls_is_null_or_empty(choice, content):
    turn = encode(say("user", "a"), *STEP, profile={"empty_content": choice}).body["messages"][1]
    assert turn["content"] == content


@pytest.mark.quirk(56)
def test_deepseek_gets_reasoning_content_in_every_turn():
    own = ReasoningItem(text="t", private={"openai-chat": {"_field": "reasoning"}})
    foreign = ReasoningItem(text="u", private={"anthropic": {"signature": "s"}})
    encoded = encode(
        say("user", "a"), own, *STEP, say("assistant", "b"), say("user", "c"), foreign, say("assistant", "d"),
        profile={"requires_reasoning_content": True},
    )  # fmt: skip
    turns = [message for message in encoded.body["messages"] if message["role"] == "assistant"]
    assert [turn["reasoning_content"] for turn in turns] == ["t", "", ""]
    assert all("reasoning" not in turn for turn in turns)
    assert codes(encoded.warnings) == ["private_dropped", "reasoning_dropped"]


@pytest.mark.quirk(59)
def test_options_that_the_model_refuses_are_left_out():
    encoded = encode(
        say("user", "a"),
        sampling=Sampling(temperature=1, top_p=0.1),
        profile={"dropped_options": frozenset({"temperature", "seed"})},
    )
    assert "temperature" not in encoded.body
    assert encoded.body["top_p"] == 0.1
    assert codes(encoded.warnings) == ["option_dropped"]


@pytest.mark.quirk(58)
def test_with_tools_only_the_effort_that_the_model_takes_is_sent():
    profile = {"effort_with_tools": "none"}
    forced = encode(say("user", "a"), tools=TOOLS, reasoning=ReasoningOptions(effort="high"), profile=profile)
    assert forced.body["reasoning_effort"] == "none"
    assert codes(forced.warnings) == ["option_adjusted"]
    assert encode(say("user", "a"), tools=TOOLS, profile=profile).body["reasoning_effort"] == "none"
    free = encode(say("user", "a"), reasoning=ReasoningOptions(effort="high"), profile=profile)
    assert free.body["reasoning_effort"] == "high"


@pytest.mark.parametrize("role", ["system", "developer", "user"])
def test_the_system_prompt_gets_the_role_that_the_model_knows(role):
    other = "developer" if role == "system" else "system"
    encoded = encode(say(other, "a"), instructions=(TextPart(text="i"),), profile={"system_role": role})
    assert encoded.body["messages"] == [{"role": role, "content": "i"}, {"role": role, "content": "a"}]
    assert codes(encoded.warnings) == ["role_changed"]


@pytest.mark.parametrize(
    ("profile", "choice", "written"),
    [
        ({"refuses_required": True}, ToolChoice(mode="required"), "auto"),
        ({"required_word": "any"}, ToolChoice(mode="required"), "any"),
        ({"allowed_tools": False}, ToolChoice(mode="required", names=("f", "g")), "required"),
    ],
)
def test_choices_that_a_server_does_not_know_are_approximated(profile, choice, written):
    encoded = encode(say("user", "a"), tools=TOOLS, tool_choice=choice, profile=profile)
    assert encoded.body["tool_choice"] == written


def test_where_subsets_are_unknown_only_the_chosen_tools_are_offered():
    tools = (*TOOLS, FunctionTool(name="h"))
    encoded = encode(
        say("user", "a"), tools=tools, tool_choice=ToolChoice(names=("f", "g")), profile={"allowed_tools": False}
    )
    assert [tool["function"]["name"] for tool in encoded.body["tools"]] == ["f", "g"]
    assert encoded.body["tool_choice"] == "auto"
    assert codes(encoded.warnings) == ["choice_approximated"]


def test_where_one_of_a_subset_is_optional_only_it_is_offered():
    encoded = encode(
        say("user", "a"), tools=TOOLS, tool_choice=ToolChoice(names=("f",)), profile={"allowed_tools": False}
    )
    assert [tool["function"]["name"] for tool in encoded.body["tools"]] == ["f"]
    assert encoded.body["tool_choice"] == "auto"


def test_free_text_tools_become_functions_where_a_server_does_not_know_them():
    tool = FunctionTool(name="w", freeform={"type": "text"})
    call = CallItem(
        call=ToolCall(call_id="c", name="w", raw='{"input":"x"}'), private={"openai-chat": {"_custom": True}}
    )
    encoded = encode(say("user", "a"), call, tools=(tool,), profile={"custom_tools": False})
    assert encoded.body["tools"][0]["function"]["parameters"]["required"] == ["input"]
    assert encoded.body["messages"][1]["tool_calls"][0]["function"]["arguments"] == '{"input":"x"}'


@pytest.mark.quirk(77)
def test_minimal_messages_have_no_members_that_only_some_servers_know():
    body = request(
        {"role": "user", "content": "a", "name": "ann", "odd": 1},
        {"role": "assistant", "content": "b", "odd": 1, "tool_calls": [{**tool_call(), "odd": 1}]},
        {"role": "tool", "tool_call_id": "call_1", "content": "x", "odd": 1},
    )
    assert round_trip(body, minimal_messages=True).body["messages"] == [
        {"role": "user", "content": "a", "name": "ann"},
        {"role": "assistant", "content": "b", "tool_calls": [tool_call()]},
        {"role": "tool", "tool_call_id": "call_1", "content": "x"},
    ]


def test_members_that_only_responses_have_do_not_go_back_to_a_provider():
    message = {
        "role": "assistant", "content": "b", "annotations": [], "refusal": None, "channel": "final",
        "audio": {"id": "a1", "data": "zz", "transcript": "t"},
    }  # fmt: skip
    reply = chat.decode_response({"id": "r", "choices": [{"index": 0, "message": message, "finish_reason": "stop"}]})
    body = encode(say("user", "a"), *reply.items, profile={}).body
    assert body["messages"][1] == {"role": "assistant", "content": "b", "audio": {"id": "a1"}}


def test_the_older_limit_and_flat_texts_can_be_asked_for():
    parts = (TextPart(text="a"), TextPart(text="b"))
    encoded = encode(
        Message(role="user", parts=parts),
        max_output_tokens=5,
        sampling=Sampling(top_k=2),
        stream=True,
        profile={"max_tokens_field": "max_tokens", "flat_text": True, "takes_top_k": True, "stream_usage": False},
    )
    assert encoded.body == {
        "model": "m", "messages": [{"role": "user", "content": "a\n\nb"}], "top_k": 2, "max_tokens": 5, "stream": True,
    }  # fmt: skip


def test_a_limit_under_its_older_name_is_renamed_where_that_is_refused():
    request = chat.decode_request({"model": "m", "messages": [{"role": "user", "content": "a"}], "max_tokens": 5})
    believed = chat.encode_request(request).body
    renamed = chat.encode_request(request, profile=chat.Profile(takes_max_tokens=False)).body
    assert (believed["max_tokens"], renamed["max_completion_tokens"]) == (5, 5)
    assert "max_tokens" not in renamed
