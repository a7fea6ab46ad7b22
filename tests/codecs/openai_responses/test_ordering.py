import json

import pytest

from groundwire.codecs.openai_responses import Profile, decode_request, encode_request
from groundwire.codecs.wire.pairing import MISSING_RESULT
from groundwire.contracts.messages import NativeItem, ReasoningItem, ResultItem, TextPart, say
from groundwire.contracts.requests import ModelRequest

USER = {"role": "user", "content": "hi"}


def call(call_id, **members):
    return {"type": "function_call", "call_id": call_id, "name": "f", "arguments": "{}", **members}


def output(call_id, text="ok"):
    return {"type": "function_call_output", "call_id": call_id, "output": text}


def thought(item_id, **members):
    return {"type": "reasoning", "id": item_id, "summary": [], **members}


def sent(*items, profile=None, **members):
    body = {"model": "m", "input": list(items), **members}
    encoded = encode_request(decode_request(json.dumps(body).encode()), profile=profile or Profile())
    return encoded.body["input"], [warning.code for warning in encoded.warnings]


@pytest.mark.quirk(70)
def test_a_call_without_an_output_gets_one_at_the_end_of_its_step():
    items = [USER, call("a"), call("b"), output("b"), USER]
    written, found = sent(*items)
    assert written == [USER, call("a"), call("b"), output("b"), output("a", MISSING_RESULT), USER]
    assert found == ["result_added"]


def test_a_last_call_gets_an_output_too():
    written, found = sent(USER, call("a"))
    assert written == [USER, call("a"), output("a", MISSING_RESULT)]
    assert found == ["result_added"]


def test_an_output_without_its_call_is_sent_as_text():
    written, found = sent(USER, output("a", "result"))
    assert written[1]["role"] == "user"
    assert "result" in json.dumps(written[1]["content"])
    assert found == ["result_orphaned"]


@pytest.mark.parametrize("state", [{"previous_response_id": "resp_1"}, {"conversation": "conv_1"}])
def test_an_output_may_belong_to_a_call_that_the_provider_has_stored(state):
    assert sent(output("a"), **state) == ([output("a")], [])
    written, found = sent(output("a"), call("b"), **state)
    assert written == [output("a"), call("b"), output("b", MISSING_RESULT)]
    assert found == ["result_added"]


def test_a_reference_may_stand_for_the_call():
    items = [{"type": "item_reference", "id": "fc_1"}, output("a")]
    assert sent(*items) == (items, [])


@pytest.mark.quirk(57)
def test_a_clone_that_wants_it_gets_calls_and_outputs_in_two_blocks():
    words = {"role": "assistant", "content": "one moment"}
    items = [thought("rs_a", content=[]), call("a"), words, call("b"), output("b"), output("a"), USER]
    written, _ = sent(*items, profile=Profile(group_calls=True))
    assert written == [items[0], words, call("a"), call("b"), output("b"), output("a"), USER]
    assert sent(*items)[0] == items


@pytest.mark.quirk(57)
def test_a_clone_gets_stored_results_where_they_were():
    items = [output("z"), call("a"), output("a")]
    written, _ = sent(*items, profile=Profile(group_calls=True), previous_response_id="resp_1")
    assert written == items


def test_reasoning_goes_with_what_it_led_to():
    items = [USER, thought("rs_1", encrypted_content="A"), call("a", id="fc_1"), output("a"), USER]
    assert sent(*items) == (items, [])


def test_reasoning_without_what_it_led_to_stays_behind():
    for rest in ([], [USER], [thought("rs_2"), USER]):
        written, found = sent(USER, thought("rs_1"), *rest)
        assert [item for item in written if item.get("type") == "reasoning"] == []
        assert set(found) == {"reasoning_dropped"}


def test_without_its_reasoning_an_item_goes_without_its_id():
    request = decode_request(
        {"model": "m", "input": [USER, call("a", id="fc_1"), output("a"), call("b", id="fc_2"), output("b")]}
    )
    items = (
        request.items[0],
        ReasoningItem(text="foreign", private={"anthropic": {"signature": "s"}}),
        *request.items[1:],
    )
    encoded = encode_request(ModelRequest(model="m", items=items))
    assert encoded.body["input"] == [USER, call("a"), output("a"), call("b", id="fc_2"), output("b")]
    assert [warning.code for warning in encoded.warnings] == ["reasoning_dropped"]


def test_ids_that_were_never_stored_are_not_sent():
    message = {
        "type": "message", "id": "msg_1", "role": "assistant", "status": "completed",
        "content": [{"type": "output_text", "text": "x", "annotations": []}],
    }  # fmt: skip
    items = [thought("rs_1", encrypted_content="A"), call("a", id="fc_1"), output("a"), thought("rs_2"), message]
    written, found = sent(*items, profile=Profile(send_item_ids=False))
    without_id = {key: value for key, value in message.items() if key != "id"}
    assert written == [items[0], call("a"), output("a"), without_id]
    assert found == ["reasoning_dropped"]


def test_a_foreign_result_that_failed_is_plain_text():
    request = decode_request({"model": "m", "input": [call("a")]})
    failed = ResultItem(call_id="a", parts=(TextPart(text="no such thing"),), failed=True)
    encoded = encode_request(ModelRequest(model="m", items=(*request.items, failed)))
    assert encoded.body["input"] == [call("a"), output("a", "no such thing")]


def test_system_messages_stay_where_they_are():
    request = ModelRequest(model="m", items=(say("user", "hi"), say("system", "s"), say("developer", "d")))
    assert [item["role"] for item in encode_request(request).body["input"]] == ["user", "system", "developer"]


def test_a_long_history_is_written_in_linear_time():
    items = [entry for place in range(3000) for entry in (call(f"c{place}"), output(f"c{place}"))]
    written, found = sent(*items, call("last"))
    assert len(written) == 6002
    assert found == ["result_added"]


@pytest.mark.quirk(11)
def test_two_calls_of_one_id_in_a_step_get_a_result_each():
    written, found = sent(USER, call("a"), call("a"), output("a", "first"), USER)
    made = written[2]["call_id"]
    assert made != "a"
    assert written == [USER, call("a"), call(made), output("a", "first"), output(made, MISSING_RESULT), USER]
    assert sorted(found) == ["call_id_rewritten", "result_added"]


def test_reasoning_that_led_to_what_only_another_provider_understands_is_left_out():
    thought_of_ours = ReasoningItem(private={"openai-responses": {"id": "rs_1", "encrypted_content": "E"}})
    search = NativeItem(origin="anthropic", value={"type": "server_tool_use"})
    request = ModelRequest(model="m", items=(thought_of_ours, search, say("user", "hi")))
    encoded = encode_request(request)
    assert encoded.body["input"] == [USER]
    assert sorted(warning.code for warning in encoded.warnings) == ["native_dropped", "reasoning_dropped"]
