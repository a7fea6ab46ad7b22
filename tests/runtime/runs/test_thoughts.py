import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundwire.contracts.messages import say
from groundwire.contracts.replies import Finish, FinishReason, Reply
from groundwire.runtime.runs.thoughts import MAX_BLANKS, LeakFilter, without_leaks


def told(text):
    reply = Reply(items=(say("assistant", text),), finish=Finish(reason=FinishReason.END))
    return without_leaks(reply).text


def streamed(pieces):
    leak = LeakFilter()
    return "".join([*map(leak.feed, pieces), leak.finish()])


@pytest.mark.requirement("A-166")
@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("<think>so</think>Hello.", "Hello."),
        (" \n<think>a</think>\n<think>b</think>\n Hello.", "Hello."),
        ("Hello <think>no</think>.", "Hello <think>no</think>."),
        ("<think>never closed", ""),
        ("<thin", "<thin"),
        ("  Hello.", "  Hello."),
        (" " * MAX_BLANKS + "<think>x</think>y", "y"),
        (" " * (MAX_BLANKS + 1) + "<think>x</think>y", " " * (MAX_BLANKS + 1) + "<think>x</think>y"),
    ],
)
def test_thoughts_at_the_beginning_are_no_words(text, words):
    assert told(text) == words


@given(
    st.lists(st.sampled_from(["<think>", "</think>", "<", "think>", "a", " ", "\n"]), max_size=14), st.integers(1, 5)
)
def test_pieces_give_the_same_words_as_the_whole(parts, size):
    text = "".join(parts)
    assert streamed([text[at : at + size] for at in range(0, len(text), size)]) == told(text)


def test_many_thoughts_and_many_blanks_are_read_once():
    assert told("<think></think>" * 200_000 + "end") == "end"
    assert streamed(["<think></think>" * 100_000, "end"]) == "end"
    assert streamed([" " * 8] * 100_000) == " " * 800_000
