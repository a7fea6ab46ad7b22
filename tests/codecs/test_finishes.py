"""How a reply ended, from one dialect to another, where no dialect has the word."""

import itertools
import json

import pytest

from groundwire.codecs.dialects import codec_of, translate
from groundwire.codecs.wire.building import parts_of
from groundwire.contracts.messages import say
from groundwire.contracts.replies import Finish, FinishReason, Reply
from groundwire.contracts.requests import DIALECTS

SAID = {
    "openai-chat": {"choices": [{"index": 0, "message": {"role": "assistant", "content": "hi"}, "finish_reason": "x"}]},
    "openai-responses": {
        "object": "response",
        "status": "x",
        "output": [{"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "hi"}]}],
    },
    "anthropic": {
        "type": "message",
        "role": "assistant",
        "content": [{"type": "text", "text": "hi"}],
        "stop_reason": "x",
    },
    "gemini": {"candidates": [{"content": {"role": "model", "parts": [{"text": "hi"}]}, "finishReason": "x"}]},
}
ENDS = {"openai-chat": "stop", "openai-responses": "completed", "anthropic": "end_turn", "gemini": "STOP"}


@pytest.mark.parametrize(("source", "target"), list(itertools.permutations(DIALECTS, 2)))
def test_a_reason_that_nobody_knows_is_sent_as_a_plain_end_with_a_warning(source, target):
    reply = codec_of(source).decode_response(SAID[source])
    assert (reply.finish.reason, reply.finish.raw) == (FinishReason.END, "x")
    told = [("finish_approximated", "finish", f"'x' is no known reason and was sent as {ENDS[target]}.")]
    done = translate(json.dumps(SAID[source]).encode(), source, target, kind="response")
    assert [(warning.code, warning.path, warning.message) for warning in done.warnings] == told
    encoder = codec_of(target).StreamEncoder()
    for part in parts_of(reply):
        encoder.feed(part)
    assert [(warning.code, warning.path, warning.message) for warning in encoder.warnings] == told


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_reason_that_was_not_said_is_no_guess_to_warn_about(dialect):
    body = json.loads(json.dumps(SAID[dialect]).replace('"x"', "null"))
    for target in DIALECTS:
        assert translate(json.dumps(body).encode(), dialect, target, kind="response").warnings == ()


def test_an_incomplete_response_is_the_responses_apis_own_word():
    reply = Reply(items=(say("assistant", "so"),), finish=Finish(reason=FinishReason.INCOMPLETE))
    encoded = codec_of("openai-responses").encode_response(reply)
    assert (encoded.body["status"], encoded.warnings) == ("incomplete", ())
