"""Rewriting of relayed requests, as the pure function that it is."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundwire.gateway.rewriting import KnownStep, ToolContext, rewrite

PLACEHOLDER = "Tool call completed"
TOOLS = [{"functionDeclarations": [{"name": "get_weather"}]}]
CALL = {"role": "model", "parts": [{"functionCall": {"name": "get_weather", "args": {}}, "thoughtSignature": "c2ln"}]}
RESULT = {"role": "user", "parts": [{"functionResponse": {"name": "get_weather", "response": {"temp": 22}}}]}


def user(text):
    return {"role": "user", "parts": [{"text": text}]}


def model(*texts):
    return {"role": "model", "parts": [{"text": text} for text in texts]}


ASKED = [user("How is the weather?")]


def context_of(contents, *steps):
    """What a step that was made after these contents remembers of them."""
    body = json.dumps({"contents": contents}).encode()
    return rewrite(body, ToolContext(placeholder=PLACEHOLDER, steps=steps)).context


def step_after(said, *steps, step_id="one", **more):
    options = {"contents": (CALL, RESULT), "is_pending": True, "is_open": True, **more}
    return KnownStep(step_id=step_id, context=context_of(said, *steps), **options)


def contents_of(contents, *steps):
    body = json.dumps({"contents": contents}).encode()
    rewriting = rewrite(body, ToolContext(placeholder=PLACEHOLDER, steps=steps))
    return json.loads(rewriting.body)["contents"], rewriting


@pytest.mark.requirement("E-052")
def test_without_a_context_the_body_stays_as_it_is():
    body = b'{ "contents": [], "tools": [1] }'
    assert rewrite(body, None).body == body


@pytest.mark.requirement("E-052", "E-053", "E-054", "E-055", "E-003")
def test_the_clients_tools_make_way_for_those_of_the_session():
    config = {"functionCallingConfig": {"mode": "ANY"}}
    body = {"contents": ASKED, "tools": [{"googleSearch": {}}], "tool_config": {"a": 1}, "cachedContent": "c"}
    context = ToolContext(placeholder=PLACEHOLDER, tools=TOOLS, tool_config=config)
    made = json.loads(rewrite(json.dumps(body).encode(), context).body)
    assert made == {"contents": ASKED, "cachedContent": "c", "tools": TOOLS, "toolConfig": config}


@pytest.mark.requirement("E-053")
def test_a_session_without_tools_has_none_and_neither_has_the_client():
    body = json.dumps({"contents": ASKED, "tools": TOOLS, "toolConfig": {}}).encode()
    assert json.loads(rewrite(body, ToolContext(placeholder=PLACEHOLDER)).body) == {"contents": ASKED}


@pytest.mark.requirement("E-056", "E-102")
def test_without_results_the_history_stays_as_it_is_whatever_the_model_says():
    contents = [*ASKED, model(PLACEHOLDER), user("And?")]
    made, rewriting = contents_of(contents)
    assert (made, rewriting.placed, rewriting.problem) == (contents, {}, "")


@pytest.mark.requirement("E-005", "E-057", "E-058", "X-30", "E-048")
def test_the_placeholder_becomes_the_call_with_its_result_in_a_content_of_its_own():
    made, rewriting = contents_of([*ASKED, model(PLACEHOLDER), user("And?")], step_after(ASKED))
    assert made == [*ASKED, CALL, RESULT, user("And?")]
    assert rewriting.brings_results


def test_words_that_were_said_before_the_placeholder_and_chunks_of_a_stream_belong_to_its_turn():
    spoken = [model("Let me "), model("see.", PLACEHOLDER), model("")]
    made, _ = contents_of([*ASKED, *spoken, user("And?")], step_after(ASKED))
    assert made == [*ASKED, CALL, RESULT, user("And?")]


def test_each_placeholder_finds_its_own_step():
    first = step_after(ASKED, is_pending=False, is_open=False)
    before = [*ASKED, model(PLACEHOLDER), user("More.")]
    other = {"role": "model", "parts": [{"functionCall": {"name": "other", "args": {}}}]}
    second = step_after(before, first, step_id="two", contents=(other, RESULT))
    made, rewriting = contents_of([*before, model(PLACEHOLDER), user("And?")], first, second)
    assert made == [*ASKED, CALL, RESULT, user("More."), other, RESULT, user("And?")]
    assert list(rewriting.placed) == ["one", "two"]


def test_a_step_that_was_answered_stays_in_later_requests_of_the_same_conversation_only():
    step = step_after(ASKED, is_pending=False, is_open=False)
    same = [*ASKED, model(PLACEHOLDER), user("And?"), model("Sunny."), user("Thanks.")]
    made, _ = contents_of(same, step)
    assert made == [*ASKED, CALL, RESULT, *same[2:]]
    other = [user("Who are you?"), model(PLACEHOLDER), user("And?")]
    assert contents_of(other, step)[0] == other


def test_a_placeholder_that_was_said_again_while_results_were_awaited_is_left_out():
    contents = [*ASKED, model(PLACEHOLDER), user("And?"), model(PLACEHOLDER), user("Now?")]
    made, _ = contents_of(contents, step_after(ASKED))
    assert made == [*ASKED, CALL, RESULT, user("And?"), user("Now?")]


def test_a_request_that_is_sent_again_goes_on_with_its_calls_until_they_are_answered():
    assert contents_of(ASKED, step_after(ASKED))[0] == [*ASKED, CALL, RESULT]
    assert contents_of(ASKED, step_after(ASKED, is_pending=False, is_open=False))[0] == ASKED


def test_new_results_go_to_the_last_placeholder_where_the_client_tells_the_beginning_otherwise():
    contents = [user("(shortened)"), model(PLACEHOLDER), user("And?")]
    made, rewriting = contents_of(contents, step_after(ASKED))
    assert made == [contents[0], CALL, RESULT, contents[2]]
    assert rewriting.placed == {"one": context_of(contents[:1])}


@pytest.mark.requirement("E-102")
def test_results_without_a_place_leave_the_history_alone_and_say_so():
    contents = [user("Something else.")]
    made, rewriting = contents_of(contents, step_after(ASKED))
    assert made == contents
    assert rewriting.placed == {}
    assert (
        rewriting.problem == "No turn of the model says 'Tool call completed', so its calls and results have no place."
    )


def test_a_forced_choice_is_not_forced_on_results():
    forced = {"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["x"]}, "retrievalConfig": {"a": 1}}
    context = ToolContext(placeholder=PLACEHOLDER, tools=TOOLS, tool_config=forced, steps=(step_after(ASKED),))
    contents = [*ASKED, model(PLACEHOLDER), user("And?")]
    made = json.loads(rewrite(json.dumps({"contents": contents}).encode(), context).body)
    assert made["toolConfig"] == {"functionCallingConfig": {"mode": "AUTO"}, "retrievalConfig": {"a": 1}}


@pytest.mark.requirement("E-102", "OQ-42")
@pytest.mark.parametrize(
    "body", [b"", b"[1]", b"{", b'{"contents": ' + b"[" * 100_000 + b"]" * 100_000 + b"}", b"\xff"]
)
def test_what_cannot_be_read_goes_on_as_it_came(body):
    rewriting = rewrite(body, ToolContext(placeholder=PLACEHOLDER, tools=TOOLS, steps=(step_after(ASKED),)))
    assert rewriting.body == body
    assert rewriting.problem


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text() | st.just("text"), inner, max_size=4),
    max_leaves=12,
)
PARTS = st.lists(st.fixed_dictionaries({"text": st.just(PLACEHOLDER) | JSON}) | JSON, max_size=3) | JSON
CONTENTS = st.lists(
    st.fixed_dictionaries({"role": st.sampled_from(["user", "model"]), "parts": PARTS}) | JSON, max_size=5
)
BODIES = st.fixed_dictionaries({"contents": CONTENTS | JSON, "tools": JSON, "toolConfig": JSON}) | JSON


@pytest.mark.requirement("E-102")
@given(body=BODIES)
def test_any_json_is_rewritten_or_goes_on_as_it_came(body):
    data = json.dumps(body).encode()
    step = step_after(ASKED)
    rewriting = rewrite(data, ToolContext(placeholder=PLACEHOLDER, tools=TOOLS, steps=(step,)))
    if not isinstance(body, dict):
        assert rewriting.body == data
        return
    made = json.loads(rewriting.body)
    assert made["tools"] == TOOLS
    assert "toolConfig" not in made
    assert ("one" in rewriting.placed) == (rewriting.problem == "")
    again = rewrite(rewriting.body, ToolContext(placeholder=PLACEHOLDER, tools=TOOLS))
    assert json.loads(again.body) == made
