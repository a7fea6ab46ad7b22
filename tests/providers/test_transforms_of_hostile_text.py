"""Text made to be slow to read."""

import time

import pytest

from groundwire.providers.transforms import RESPONSE_TRANSFORMS

HOSTILE = [
    "<tool_call>",
    "<tool_call>{",
    '<tool_call>{"a":"',
    '<tool_call>{",":"',
    '<tool_call>{"a":"\\',
    '<tool_call>{"name":"f"}',
    '<tool_call>{"a":[[[[',
    "[TOOL_CALLS]",
    '[TOOL_CALLS][{"name":"f"},',
    "[TOOL_CALLS]f",
    '<|python_tag|>{"name":"f"};',
    '{"name":"f"};',
    "<function=f>",
    "<function=f>{",
    "<function=",
    "<｜tool▁calls▁begin｜>",
    "<｜tool▁calls▁begin｜>   ",
    "<｜tool▁call▁begin｜>f<｜tool▁sep｜>{",
    "<|tool_call_begin|>f<|tool_call_argument_begin|>{",
    "<|channel|>commentary ",
    "<|channel|>commentary to=functions.f<|message|>{",
    "```json\n",
    "```json\n{",
    "<parameter=x>",
    "<function=f><parameter=x>",
    "<function=f><parameter=x></parameter>",
    "<minimax:tool_call>",
    '<minimax:tool_call><invoke name="f"><parameter name="x">',
    '<invoke name="f"></invoke>',
    "<think>",
    "</think>",
    "<think></think>",
    "</s>",
    "assistant\n",
    " ",
    "\n",
]


HEADS = ["<tool_call>", '<tool_call>{"a":"', '<|python_tag|>{"name":"f"};', "<function=f>{", "<minimax:tool_call>"]
NAMES = [name for name in RESPONSE_TRANSFORMS if name.startswith("assistant_content_")]


@pytest.mark.quirk(27)
@pytest.mark.quirk(28)
@pytest.mark.quirk(32)
@pytest.mark.parametrize("content", [(unit, 250_000) for unit in HOSTILE] + [("<tool_call>", 1_000_000)], ids=repr)
def test_hostile_text_is_read_in_linear_time(content):
    """Each takes a fraction of a second; anything quadratic would take minutes."""
    unit, size = content
    for name in NAMES:
        read_quickly(name, unit * (size // len(unit)))


@pytest.mark.quirk(27)
@pytest.mark.parametrize("head", HEADS)
def test_a_long_way_to_nowhere_is_walked_once(head):
    for unit in (" ", '{"name":"f"};', "<tool_call>{", '\\"', "[", "\n"):
        for name in NAMES:
            read_quickly(name, head + unit * (100_000 // len(unit)))


def read_quickly(name, content):
    started = time.process_time()
    RESPONSE_TRANSFORMS[name]({"role": "assistant", "content": content})
    assert time.process_time() - started < 5, name
