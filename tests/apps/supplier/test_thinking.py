"""What a model thought is never sent to a supplier."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundwire.apps.supplier.thinking import strip_thinking


@pytest.mark.requirement("A-166")
@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("<think>要压价</think>您好", "您好"),
        ("您好<thinking>压价</thinking>，在吗", "您好，在吗"),
        ("<THINK>a</THINK>b<think>c</think>d", "bd"),
        ("您好<think>没有写完", "您好"),
        ("忘了开头</think>您好", "您好"),
        ("<think>外<think>内</think>外</think>您好", "您好"),
        ("< think >a</ think >您好", "您好"),
        ("没有标签", "没有标签"),
        ("1 < 2，2 > 1", "1 < 2，2 > 1"),
        ("<think></think>", ""),
    ],
)
def test_a_reply_holds_nothing_that_was_only_thought(text, left):
    assert strip_thinking(text) == left


@given(
    st.lists(st.sampled_from(["<think>", "</think>", "<thinking>", "</thinking>", "好", "<", ">", " "])).map("".join)
)
def test_no_tag_is_ever_left(text):
    left = strip_thinking(text)
    assert "<think>" not in left
    assert "</think>" not in left
    assert strip_thinking(left) == left


def test_a_long_reply_is_read_in_time_that_grows_with_its_length_only():
    began = time.process_time()
    strip_thinking("<think>" * 100_000 + "< " * 100_000)
    assert time.process_time() - began < 5


@pytest.mark.requirement("A-166")
def test_thoughts_within_thoughts_take_nothing_of_the_reply_with_them():
    assert strip_thinking("好<think>a<think>b</think>c</think>的") == "好的"
