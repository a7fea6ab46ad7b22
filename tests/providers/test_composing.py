"""Limits that a request sets on its answer. A token is four characters, and one more begins with each answer."""

import pytest

from groundwire.contracts.messages import say
from groundwire.contracts.replies import FinishReason
from groundwire.contracts.requests import FunctionTool, ModelRequest, Sampling
from groundwire.providers.composing import to_reply
from groundwire.providers.scripts import Answer, Ask


def reply(answer, **options):
    return to_reply(
        answer, ModelRequest(model="m", items=(say("user", "hi"),), tools=(FunctionTool(name="f"),), **options)
    )


@pytest.mark.parametrize(
    ("tokens", "text", "reason"),
    [
        (None, "12345678", FinishReason.END),
        (3, "12345678", FinishReason.END),
        (2, "1234567", FinishReason.LENGTH),
        (1, "123", FinishReason.LENGTH),
        (0, "", FinishReason.LENGTH),
    ],
)
def test_an_answer_has_at_most_the_tokens_that_were_asked_for(tokens, text, reason):
    made = reply(Answer("12345678"), max_output_tokens=tokens)
    assert (made.text, made.finish.reason) == (text, reason)
    assert tokens in (None, 0) or made.usage.output <= tokens


def test_a_limit_cuts_what_comes_last_and_a_cut_call_is_not_complete():
    answer = Answer("1234", (Ask("f", {"q": "x"}), Ask("f")), reasoning="abcd")
    whole = reply(answer, max_output_tokens=5)
    cut = reply(answer, max_output_tokens=4)
    short = reply(answer, max_output_tokens=2)
    assert [(item.call.raw, item.complete) for item in whole.calls] == [('{"q":"x"}', True), ("{}", True)]
    assert [(item.call.raw, item.complete) for item in cut.calls] == [('{"q":"x', False)]
    assert ([item.kind for item in short.items], short.text) == (["reasoning", "message"], "123")


def test_a_refusal_is_cut_too():
    (message,) = reply(Answer(refusal="I will not."), max_output_tokens=1).items
    assert message.parts[0].text == "I w"


@pytest.mark.parametrize(
    ("stop", "text", "found"),
    [(("c",), "ab", "c"), (("d", "bc"), "a", "bc"), (("a",), "", "a"), (("x",), "abcd", None), (("",), "abcd", None)],
)
def test_an_answer_ends_before_the_first_stop_sequence(stop, text, found):
    made = reply(Answer("abcd", (Ask("f"),)), sampling=Sampling(stop=stop))
    assert (made.text, len(made.calls)) == (text, 0 if found else 1)
    assert (made.finish.reason, made.finish.detail) == (
        (FinishReason.STOP_SEQUENCE, found) if found else (FinishReason.TOOL_CALLS, None)
    )


def test_a_stop_sequence_behind_the_limit_is_never_reached():
    made = reply(Answer("12345678c"), max_output_tokens=2, sampling=Sampling(stop=("c",)))
    assert (made.text, made.finish.reason) == ("1234567", FinishReason.LENGTH)


def test_the_same_conversation_gives_the_same_ids_and_another_gives_others():
    def ids(*said):
        items = tuple(say("user", text) for text in said)
        made = to_reply(Answer(calls=(Ask("f"),)), ModelRequest(model="m", items=items))
        return made.reply_id, made.calls[0].call.call_id

    assert ids("a", "b") == ids("a", "b")
    assert not {*ids("a", "b")} & {*ids("c", "b")}
