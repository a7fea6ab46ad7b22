"""No JSON makes a transform fail, change its input, or have something left to do a second time."""

from hypothesis import given, settings
from hypothesis import strategies as st

from groundwire.contracts.requests import SendOptions
from groundwire.providers.transforms import (
    MESSAGE_TRANSFORMS,
    RESPONSE_TRANSFORMS,
    TOOL_TRANSFORMS,
    apply_to_request,
    apply_to_response,
)

ALL = {**MESSAGE_TRANSFORMS, **TOOL_TRANSFORMS, **RESPONSE_TRANSFORMS}
EVERYTHING = SendOptions(
    message_transforms=tuple(MESSAGE_TRANSFORMS),
    tool_transforms=tuple(TOOL_TRANSFORMS),
    response_transforms=tuple(RESPONSE_TRANSFORMS),
)
PIECES = st.sampled_from(
    [
        "<tool_call>",
        "</tool_call>",
        '{"name":"f","arguments":{"a":1}}',
        '[{"name":"f","arguments":{}}]',
        "[TOOL_CALLS]",
        "f",
        "[ARGS]",
        "{}",
        "<|python_tag|>",
        ";",
        "<|eom_id|>",
        "<function=f>",
        "</function>",
        "<parameter=x>",
        '<parameter name="x">',
        "</parameter>",
        "<minimax:tool_call>",
        "</minimax:tool_call>",
        '<invoke name="f">',
        "</invoke>",
        "<｜tool▁calls▁begin｜>",
        "<｜tool▁call▁begin｜>",
        "<｜tool▁sep｜>",
        "<｜tool▁call▁end｜>",
        "<|tool_call_begin|>",
        "<|tool_call_argument_begin|>",
        "<|tool_call_end|>",
        "functions.f:0",
        "<|channel|>commentary to=functions.f",
        "<|message|>",
        "<|call|>",
        "```json\n",
        "\n```",
        "<think>",
        "</think>",
        "</s>",
        "assistant",
        "\n",
        " ",
        '"',
        "\\",
    ]
)
TEXT = st.lists(PIECES | st.text(max_size=3), max_size=14).map("".join)
NAMES = st.sampled_from(
    ["role", "content", "tool_calls", "function_call", "function", "name", "arguments", "type", "text", "0", "1"]
) | st.text(max_size=3)
LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | TEXT | st.sampled_from(["assistant", "text"])
JSON = st.recursive(LEAVES, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(NAMES, inner, max_size=5))
MESSAGES = st.dictionaries(NAMES, JSON, max_size=5) | st.builds(
    lambda content, more: {"role": "assistant", "content": content, **more},
    TEXT | st.lists(st.builds(lambda text: {"type": "text", "text": text}, TEXT) | JSON, max_size=3),
    st.dictionaries(NAMES, JSON, max_size=2),
)


@settings(deadline=None, max_examples=150)
@given(value=MESSAGES)
def test_any_json_goes_through_any_transform_unharmed_and_only_once(value):
    before = repr(value)
    for transform in ALL.values():
        result = transform(value)
        assert repr(value) == before
        assert isinstance(result, dict)
        assert transform(result) is result


@settings(deadline=None, max_examples=80)
@given(value=st.dictionaries(st.sampled_from(["messages", "tools", "choices"]), JSON | st.lists(MESSAGES, max_size=3)))
def test_any_json_goes_through_as_a_body(value):
    before = repr(value)
    choices = value.get("choices")
    if isinstance(choices, list):
        value["choices"] = [{"message": entry} for entry in choices]
        before = repr(value)
    assert isinstance(apply_to_request(value, EVERYTHING), dict)
    assert isinstance(apply_to_response(value, EVERYTHING), dict)
    assert repr(value) == before
