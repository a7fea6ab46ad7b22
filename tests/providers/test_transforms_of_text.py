"""Calls that models write into their text, and what is left of the text without them."""

import copy
import hashlib
import json

import pytest

from groundwire.providers.transforms import RESPONSE_TRANSFORMS

TAGS = "assistant_content_tool_call_tags_to_tool_calls"
MISTRAL = "assistant_content_mistral_marks_to_tool_calls"
PYTHON_TAG = "assistant_content_llama_python_tag_to_tool_calls"
FUNCTION = "assistant_content_llama_function_tags_to_tool_calls"
DEEPSEEK = "assistant_content_deepseek_marks_to_tool_calls"
KIMI = "assistant_content_kimi_marks_to_tool_calls"
HARMONY = "assistant_content_harmony_commentary_to_tool_calls"
FENCES = "assistant_content_json_fences_to_tool_calls"
CODER = "assistant_content_qwen_coder_tags_to_tool_calls"
MINIMAX = "assistant_content_minimax_tags_to_tool_calls"
EXTRACTORS = [TAGS, MISTRAL, PYTHON_TAG, FUNCTION, DEEPSEEK, KIMI, HARMONY, FENCES, CODER, MINIMAX]


def transform(name, content, **members):
    """What is left of the content, and the calls as pairs of name and parsed arguments."""
    message = {"role": "assistant", "content": content, **members}
    before = copy.deepcopy(message)
    result = RESPONSE_TRANSFORMS[name](message)
    assert message == before
    assert RESPONSE_TRANSFORMS[name](result) is result
    if result is message:
        return content, None
    calls = result["tool_calls"]
    assert all(call["type"] == "function" for call in calls)
    assert len({call["id"] for call in calls}) == len(calls)
    return result["content"], [(call["function"]["name"], json.loads(call["function"]["arguments"])) for call in calls]


def stays(name, content):
    assert transform(name, content) == (content, None)


@pytest.mark.requirement("C-183")
@pytest.mark.quirk(27)
@pytest.mark.parametrize(
    ("content", "left", "calls"),
    [
        ('<tool_call>{"name":"f","arguments":{"a":1}}</tool_call>', None, [("f", {"a": 1})]),
        ('<tool_call>\n{"name": "f", "arguments": {}}\n</tool_call>\n', None, [("f", {})]),
        ('<tool_call>{"name":"f"}</tool_call>', None, [("f", {})]),
        ('<tool_call>{"name":" f ","arguments":null}</tool_call>', None, [("f", {})]),
        ('<tool_call>{"name":"f","parameters":{"a":1}}</tool_call>', None, [("f", {"a": 1})]),
        ('<tool_call>{"name":"f","arguments":"{\\"a\\": 1}"}</tool_call>', None, [("f", {"a": 1})]),
        (
            (
                'One moment.\n<tool_call>{"name":"f","arguments":{}}</tool_call>\n'
                '<tool_call>{"name":"g","arguments":{}}</tool_call> Done.'
            ),
            "One moment.\n\n Done.",
            [("f", {}), ("g", {})],
        ),
        (
            '<tool_call>{"name":"f","arguments":{"a":"</tool_call><tool_call>"}}</tool_call>',
            None,
            [("f", {"a": "</tool_call><tool_call>"})],
        ),
        (
            '<tool_call>{broken}</tool_call><tool_call>{"name":"g"}</tool_call>',
            "<tool_call>{broken}</tool_call>",
            [("g", {})],
        ),
        ('<tool_call><tool_call>{"name":"g"}</tool_call>', "<tool_call>", [("g", {})]),
        (
            '<tool_call>{"name":"f","arguments":{"n":12345678901234567890123}}</tool_call>',
            None,
            [("f", {"n": 12345678901234567890123})],
        ),
    ],
)
def test_tagged_calls_leave_the_text(content, left, calls):
    assert transform(TAGS, content) == (left, calls)


@pytest.mark.requirement("C-183")
@pytest.mark.quirk(27)
@pytest.mark.parametrize(
    "content",
    [
        "",
        "No tags.",
        "<tool_call>",
        "<tool_call></tool_call>",
        '<tool_call>{"name":"f","arguments":{"a":1}}',
        '<tool_call>{"name":"f","arguments":{"a":1',
        '<tool_call>{"name":"f","arguments":{"a":1,}}</tool_call>',
        '<tool_call>{"name":"f","arguments":{"a":NaN}}</tool_call>',
        '<tool_call>{"name":"f","arguments":{"a":1e999}}</tool_call>',
        '<tool_call>{"name":"f","arguments":{"a":"\\ud800"}}</tool_call>',
        '<tool_call>{"name":"f","arguments":[1]}</tool_call>',
        '<tool_call>{"name":"","arguments":{}}</tool_call>',
        '<tool_call>{"name":5}</tool_call>',
        '<tool_call>{"arguments":{}}</tool_call>',
        '<tool_call>["f"]</tool_call>',
        '<tool_call>{"name":"f"} and more</tool_call>',
        '<TOOL_CALL>{"name":"f"}</TOOL_CALL>',
        "<tool_call>" + '{"name":' * 100_000,
        '<tool_call>{"name":"f","arguments":' + "[" * 100_000,
    ],
)
def test_what_is_not_completely_a_call_stays_text(content):
    stays(TAGS, content)


@pytest.mark.quirk(27)
@pytest.mark.quirk(29)
@pytest.mark.parametrize(
    ("content", "left", "names"),
    [
        ("<think>X</think>X", "<think>X</think>", 1),
        ("maybe X</think>X", "maybe X</think>", 1),
        ("<think>X</think>X<think>X</think>X", "<think>X</think><think>X</think>", 2),
        ("X<think>X", "<think>X", 1),
        ("<think>X</think>", None, 0),
        ("<think>X", None, 0),
        ("X</think>", None, 0),
        ("<think>a<think>X</think>X", "<think>a<think>X</think>", 1),
        ("a</think>b</think>X", "a</think>b</think>", 1),
    ],
)
def test_a_call_that_was_only_thought_of_is_not_made(content, left, names):
    call = '<tool_call>{"name":"f"}</tool_call>'
    content = content.replace("X", call)
    if names == 0:
        stays(TAGS, content)
    else:
        assert transform(TAGS, content) == (left.replace("X", call), [("f", {})] * names)


@pytest.mark.requirement("C-183")
@pytest.mark.parametrize("name", EXTRACTORS)
@pytest.mark.parametrize(
    "message",
    [
        {"role": "assistant", "content": "ALL", "tool_calls": [{"id": "x"}]},
        {"role": "assistant", "content": "ALL", "tool_calls": {"0": {}}},
        {"role": "user", "content": "ALL"},
        {"role": "assistant", "content": None},
        {"role": "assistant", "content": {"text": "ALL"}},
        {"role": "assistant"},
    ],
)
def test_only_the_text_of_an_assistant_without_calls_is_read(name, message):
    if message.get("content") == "ALL":
        message = {**message, "content": "\n".join(sample for _, sample, _, _ in SAMPLES)}
    assert RESPONSE_TRANSFORMS[name](message) is message


@pytest.mark.requirement("C-183")
@pytest.mark.parametrize("absent", [{}, {"tool_calls": None}, {"tool_calls": []}])
def test_absent_calls_are_absent_in_any_spelling(absent):
    assert transform(TAGS, '<tool_call>{"name":"f"}</tool_call>', **absent) == (None, [("f", {})])


@pytest.mark.quirk(31)
def test_text_parts_are_read_too_and_the_others_stay():
    tagged = '<tool_call>{"name":"f"}</tool_call>'
    thought = {"type": "thinking", "text": tagged}
    content = [thought, {"type": "text", "text": f"Look: {tagged}"}, None, {"type": "text", "text": tagged}]
    left, calls = transform(TAGS, content)
    assert left == [thought, {"type": "text", "text": "Look:"}, None]
    assert calls == [("f", {}), ("f", {})]
    assert transform(TAGS, [{"type": "text", "text": tagged}]) == (None, [("f", {})])


@pytest.mark.requirement("C-183")
def test_ids_depend_on_place_and_text_only():
    def ids(content):
        message = RESPONSE_TRANSFORMS[TAGS]({"role": "assistant", "content": content})
        return [call["id"] for call in message["tool_calls"]]

    call = '<tool_call>{"name":"f"}</tool_call>'
    first, second = ids(call + call)
    assert first != second
    assert first == "call_0_" + hashlib.sha256(b"f\n{}").hexdigest()[:16]
    assert ids(f"Again: {call}") == [first]
    assert ids(call.replace('"f"', '"g"')) != [first]
    assert len(second) <= 40


KIMI_CALL = "<|tool_call_begin|>functions.f:{}<|tool_call_argument_begin|>{}<|tool_call_end|>"
SAMPLES = [
    (TAGS, '<tool_call>{"name":"f","arguments":{"a":1}}</tool_call>', None, [("f", {"a": 1})]),
    (MISTRAL, '[TOOL_CALLS][{"name":"f","arguments":{"a":1},"id":"abc"}]', None, [("f", {"a": 1})]),
    (MISTRAL, 'Hi [TOOL_CALLS] [{"name":"f"},{"name":"g"}]</s>', "Hi", [("f", {}), ("g", {})]),
    (MISTRAL, '[TOOL_CALLS]{"name":"f"}', None, [("f", {})]),
    (MISTRAL, '[TOOL_CALLS]f{"a":1}[TOOL_CALLS]g{}', None, [("f", {"a": 1}), ("g", {})]),
    (MISTRAL, '[TOOL_CALLS]f[ARGS]{"a":1}', None, [("f", {"a": 1})]),
    (MISTRAL, '[TOOL_CALLS]f[CALL_ID]abcdefghi[ARGS]{"name":"x"}', None, [("f", {"name": "x"})]),
    (PYTHON_TAG, '<|python_tag|>{"name":"f","parameters":{"a":1}}', None, [("f", {"a": 1})]),
    (PYTHON_TAG, '<|python_tag|>{"name":"f"}<|eom_id|> rest', "rest", [("f", {})]),
    (PYTHON_TAG, '<|python_tag|>{"name":"f"}; {"name":"g"}\n', None, [("f", {}), ("g", {})]),
    (FUNCTION, 'So: <function=f>{"a":"</function>"}</function>', "So:", [("f", {"a": "</function>"})]),
    (FUNCTION, "<function=f>\n{}\n</function><function=g.h>{}</function>", None, [("f", {}), ("g.h", {})]),
    (
        DEEPSEEK,
        (
            "Well.<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>f\n```json\n"
            '{"a":1}\n```<｜tool▁call▁end｜>\n<｜tool▁call▁begin｜>function<｜tool▁sep｜>g\n```json\n'
            "{}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>"
        ),
        "Well.",
        [("f", {"a": 1}), ("g", {})],
    ),
    (
        DEEPSEEK,
        (
            "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>f<｜tool▁sep｜>{}<｜tool▁call▁end｜>"
            '<｜tool▁call▁begin｜>function<｜tool▁sep｜>{"a":1}<｜tool▁call▁end｜><｜tool▁calls▁end｜>'
        ),
        None,
        [("f", {}), ("function", {"a": 1})],
    ),
    (
        KIMI,
        "<|tool_calls_section_begin|>"
        + KIMI_CALL.format(0, '{"a":1}')
        + KIMI_CALL.format(1, "{}")
        + "<|tool_calls_section_end|>",
        None,
        [("f", {"a": 1}), ("f", {})],
    ),
    (
        HARMONY,
        '<|channel|>commentary to=functions.f <|constrain|>json<|message|>{"a":1}<|call|>',
        None,
        [("f", {"a": 1})],
    ),
    (
        HARMONY,
        (
            "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant to=functions.f<|channel|>commentary json"
            "<|message|>{}"
        ),
        "<|channel|>analysis<|message|>Hm.<|end|>",
        [("f", {})],
    ),
    (
        HARMONY,
        (
            "<|start|>assistant<|channel|>commentary to=functions.f<|message|>{}<|start|>assistant<|channel|>commentary "
            "to=functions.g<|message|>{}<|end|>"
        ),
        None,
        [("f", {}), ("g", {})],
    ),
    (FENCES, '```json\n{"name":"f","arguments":{"a":"```"}}\n```', None, [("f", {"a": "```"})]),
    (
        FENCES,
        'Two:\n```json\n[{"name":"f","arguments":{}},{"type":"function","name":"g","parameters":{}}]\n```\nOk?',
        "Two:\n\nOk?",
        [("f", {}), ("g", {})],
    ),
    (
        CODER,
        (
            "Now.\n<tool_call>\n<function=f>\n<parameter=x>\nline 1\n\nline 3\n</parameter>\n<parameter=y>5</parameter>\n"
            "</function>\n</tool_call>"
        ),
        "Now.",
        [("f", {"x": "line 1\n\nline 3", "y": "5"})],
    ),
    (CODER, "<function=f></function> <function=g></function>", None, [("f", {}), ("g", {})]),
    (
        CODER,
        '<function=f><parameter=x><b a="1">{"k": [1]}</b></parameter></function>',
        None,
        [("f", {"x": '<b a="1">{"k": [1]}</b>'})],
    ),
    (
        MINIMAX,
        (
            '<minimax:tool_call>\n<invoke name="f">\n<parameter name="x">a\nb</parameter>\n</invoke>\n'
            '<invoke name="g"></invoke>\n</minimax:tool_call>'
        ),
        None,
        [("f", {"x": "a\nb"}), ("g", {})],
    ),
]


@pytest.mark.quirk(28)
@pytest.mark.requirement("C-207")
@pytest.mark.parametrize(("name", "content", "left", "calls"), SAMPLES)
def test_every_text_dialect_has_its_extractor(name, content, left, calls):
    assert transform(name, content) == (left, calls)


@pytest.mark.quirk(28)
@pytest.mark.parametrize(("name", "content", "left", "calls"), SAMPLES)
def test_the_other_extractors_do_not_touch_a_foreign_dialect(name, content, left, calls):
    for other in EXTRACTORS:
        if other != name:
            stays(other, content)


@pytest.mark.quirk(28)
@pytest.mark.parametrize(("name", "content", "left", "calls"), SAMPLES)
def test_a_cut_answer_gives_only_calls_that_were_received_whole(name, content, left, calls):
    for end in range(len(content)):
        _, found = transform(name, content[:end])
        assert found is None or found == calls[: len(found)]


@pytest.mark.quirk(28)
@pytest.mark.parametrize(
    ("name", "content"),
    [
        (MISTRAL, "[TOOL_CALLS][]"),
        (MISTRAL, '[TOOL_CALLS][{"name":"f"},5]'),
        (MISTRAL, "[TOOL_CALLS]f[1]"),
        (MISTRAL, f"[TOOL_CALLS]{'f' * 129}{{}}"),
        (PYTHON_TAG, '<|python_tag|>brave_search.call(query="x")'),
        (PYTHON_TAG, '<|python_tag|>{"name":"f"} is what I would call'),
        (PYTHON_TAG, '<|python_tag|>{"name":"f"}; {"name":'),
        (FUNCTION, "<function=f>{}"),
        (FUNCTION, "<function=>{}</function>"),
        (DEEPSEEK, "<｜tool▁calls▁begin｜><｜tool▁calls▁end｜>"),
        (DEEPSEEK, "<｜tool▁call▁begin｜>f<｜tool▁sep｜>[1]<｜tool▁call▁end｜>"),
        (KIMI, "<|tool_call_begin|>functions.:0<|tool_call_argument_begin|>{}<|tool_call_end|>"),
        (KIMI, "<|tool_call_begin|>f<|tool_call_argument_begin|>{}"),
        (HARMONY, "<|channel|>final<|message|>{}<|return|>"),
        (HARMONY, '<|channel|>commentary<|message|>{"name":"f","arguments":{}}<|end|>'),
        (HARMONY, "<|channel|>commentary to=functions.f<|message|>{} and so on"),
        (FENCES, '```json\n{"name":"Ann","age":5}\n```'),
        (FENCES, '```json\n{"name":"f","arguments":{},"comment":1}\n```'),
        (FENCES, '```json\n{"name":"f","arguments":"{}"}\n```'),
        (FENCES, '```\n{"name":"f","arguments":{}}\n```'),
        (FENCES, '```python\n{"name":"f","arguments":{}}\n```'),
        (FENCES, '```json\n{"name":"f","arguments":{}}'),
        (CODER, "<function=f><parameter=x>1</parameter>"),
        (CODER, "<function=f><parameter=x>1</function>"),
        (CODER, "<function=f>text<parameter=x>1</parameter></function>"),
        (CODER, "<function=f><parameter=x>1</parameter><parameter=x>2</parameter></function>"),
        (CODER, "<function=f><parameter=x>say <parameter=y> now</parameter></function>"),
        (CODER, "<function= ></function>"),
        (CODER, f"<function={'f' * 129}></function>"),
        (MINIMAX, '<invoke name="f"></invoke>'),
        (MINIMAX, '<minimax:tool_call>text<invoke name="f"></invoke></minimax:tool_call>'),
        (MINIMAX, '<minimax:tool_call><invoke name="f"><parameter name="x">1</invoke></minimax:tool_call>'),
    ],
)
def test_what_a_dialect_does_not_allow_stays_text(name, content):
    stays(name, content)


@pytest.mark.quirk(28)
def test_the_longest_name_that_is_read_has_128_characters():
    name = "f" * 128
    assert transform(MISTRAL, f"[TOOL_CALLS]{name}{{}}") == (None, [(name, {})])
    assert transform(CODER, f"<function={name}></function>") == (None, [(name, {})])
