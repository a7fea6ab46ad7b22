import pytest

from groundwire.codecs import openai_chat as chat
from tests.codecs.openai_chat.support import chunk, decode, decode_stream, response, stream_of

CASES = {
    "tagged": ("<think>\nI see.\n</think>\n\nYes.", [("reasoning", "I see."), ("message", "Yes.")]),
    "blank before": ("\n <think>I see.</think>Yes.", [("reasoning", "I see."), ("message", "Yes.")]),
    "no thought": ("<think></think>Yes.", [("reasoning", ""), ("message", "Yes.")]),
    "no text": ("<think>I see.</think>", [("reasoning", "I see.")]),
    "unclosed": ("<think>I see. </thi", [("reasoning", "I see. </thi")]),
    "only the tag": ("<think>", [("reasoning", "")]),
    "lone end": ("I see.\n</think>\n\nYes.", [("reasoning", "I see.\n"), ("message", "Yes.")]),
    "lone end without break before": ("I see.</think>\nYes.", [("reasoning", "I see."), ("message", "Yes.")]),
    "lone end at the end": ("I see.</think>", [("reasoning", "I see.")]),
    "lone end first": ("</think>\n\nYes.", [("reasoning", ""), ("message", "Yes.")]),
    "spoken of": ("Close it with `</think>` please.", [("message", "Close it with `</think>` please.")]),
    "spoken of twice": ("Use <think> and\n</think>\n.", [("message", "Use <think> and\n</think>\n.")]),
    "not a tag": ("<thin ice> and a < b </thing>", [("message", "<thin ice> and a < b </thing>")]),
    "nearly a tag": ("<thi", [("message", "<thi")]),
    "long blanks": (
        " \n" * 9 + "<think> \n" + " " * 9 + "a" + " " * 9 + "b" + "\n" * 9 + "</think>" + "\n" * 9 + "Yes.",
        [("reasoning", "a" + " " * 9 + "b"), ("message", "Yes.")],
    ),
    "nothing but blanks": (" \n" * 9, [("message", " \n" * 9)]),
    "many signs": ("a" + "<" * 50 + "</think", [("message", "a" + "<" * 50 + "</think")]),
    "second pair": ("<think>a</think>b<think>c</think>", [("reasoning", "a"), ("message", "b<think>c</think>")]),
}


@pytest.mark.quirk(29)
@pytest.mark.parametrize("name", CASES)
def test_thought_at_the_beginning_is_reasoning(name):
    content, expected = CASES[name]
    reply = decode({"content": content})
    assert [(item.kind, item.text) for item in reply.items] == expected
    assert chat.encode_response(reply).body["choices"][0]["message"]["content"] == content


@pytest.mark.quirk(29)
@pytest.mark.parametrize("size", [1, 2, 3, 7, 100])
@pytest.mark.parametrize("name", CASES)
def test_thought_is_told_apart_however_the_text_is_cut(name, size):
    content, _ = CASES[name]
    pieces = [content[start : start + size] for start in range(0, len(content), size)]
    data = stream_of(*[chunk({"content": piece}) for piece in pieces], chunk({}, "stop"))
    parts = decode_stream(data)
    assert parts[-1].reply.items == decode({"content": content}).items
    ended = [part.item for part in parts if part.kind == "item.ended"]
    assert tuple(ended) == parts[-1].reply.items


def test_a_lone_end_behind_a_field_of_reasoning_is_no_text():
    message = {"reasoning_content": "t", "content": "</think>\n\nYes."}
    reply = decode(message)
    assert reply.text == "Yes."
    data = stream_of(
        chunk({"reasoning_content": "t"}), chunk({"content": "</th"}), chunk({"content": "ink>\n\nYes."}, "stop")
    )
    assert decode_stream(data)[-1].reply.items == reply.items


def test_the_split_can_be_switched_off():
    content = "<think>a</think>b"
    assert chat.decode_response(response({"content": content}), split_thinking=False).text == content
    data = stream_of(chunk({"content": content}, "stop"))
    assert decode_stream(data, split_thinking=False)[-1].reply.text == content
