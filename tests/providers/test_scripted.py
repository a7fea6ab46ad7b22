import pytest

from groundwire.contracts.errors import ProviderError
from groundwire.contracts.failures import Failure, FailureKind
from groundwire.contracts.messages import CallItem, ReasoningItem, ResultItem, TextPart, say
from groundwire.contracts.replies import FinishReason, ReplyEnded, ReplyTextDelta
from groundwire.contracts.requests import FunctionTool, ModelRequest, ToolChoice
from groundwire.providers.choosing import arguments_for
from groundwire.providers.faults import DEFAULT_FAULTS, Fault, FaultKind, ModelFaults, spoil
from groundwire.providers.scripted import ScriptedModel, ScriptedProvider, steps_taken
from groundwire.providers.scripts import Answer, Ask, Rule
from groundwire.testing import FakeClock

WEATHER = FunctionTool(
    name="get_weather",
    description="Current weather of a city.",
    parameters={"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
)
NOTE = FunctionTool(name="send_note", description="Write a note.", parameters={"type": "object", "properties": {}})


LETTERS = (FunctionTool(name="a"), FunctionTool(name="b"))


def ask(*items, tools=(WEATHER, NOTE), **options):
    return ModelRequest(model="sim", items=items, tools=tools, **options)


def test_a_script_goes_on_with_every_step_of_the_conversation_and_keeps_no_state():
    model = ScriptedModel(Answer(calls=(Ask("get_weather", {"city": "Oslo"}),)), "It rains.")
    start = ask(say("user", "weather?"))
    first = model.reply(start)
    assert [item.call.raw for item in first.calls] == ['{"city":"Oslo"}']
    assert first.finish.reason == FinishReason.TOOL_CALLS
    assert model.reply(start) == first
    result = ResultItem(call_id=first.calls[0].call.call_id, parts=(TextPart(text="rain"),))
    assert model.reply(ask(*start.items, *first.items, result)).text == "It rains."


def test_steps_are_runs_of_the_models_items():
    call = ScriptedModel(Answer("so", (Ask("a"), Ask("b")), "hm")).reply(ask(say("user", "x"), tools=LETTERS)).items
    assert [item.kind for item in call] == ["reasoning", "message", "call", "call"]
    assert steps_taken((say("user", "x"), *call)) == 1
    assert steps_taken((say("user", "x"), say("assistant", "y"), say("user", "z"), *call)) == 2


def test_a_rule_answers_whatever_the_step_and_ids_of_one_answer_differ():
    model = ScriptedModel("never", rules=(Rule("WEATHER in (?:oslo|rome)", Answer(calls=(Ask("a"), Ask("a")))),))
    calls = model.reply(ask(say("user", "weather in Rome?"), tools=LETTERS)).calls
    assert len({item.call.call_id for item in calls}) == 2


def test_a_scripted_failure_is_raised_as_a_provider_would():
    model = ScriptedModel(Answer(failure=Failure(kind=FailureKind.RATE_LIMIT, message="slow down", status=429)))
    with pytest.raises(ProviderError) as caught:
        model.reply(ask(say("user", "x")))
    assert caught.value.failure.kind == FailureKind.RATE_LIMIT


async def test_in_process_a_stream_says_the_same_as_the_whole():
    provider = ScriptedProvider(
        ScriptedModel(Answer("Hello there, how are you?", reasoning="greet")), clock=FakeClock(), piece=5
    )
    request = ask(say("user", "x"))
    parts = [part async for part in provider.stream(request)]
    whole = await provider.complete(request)
    assert parts[-1] == ReplyEnded(reply=whole)
    assert [part.text for part in parts if isinstance(part, ReplyTextDelta)] == [
        "Hello",
        " ther",
        "e, ho",
        "w are",
        " you?",
    ]
    assert isinstance(whole.items[0], ReasoningItem)


@pytest.mark.parametrize(
    ("text", "choice", "called"),
    [
        ("What is the weather in Tokyo?", None, ("get_weather", {"city": "Tokyo"})),
        ("note this down", None, ("send_note", {})),
        ("Hello", None, None),
        ("weather in Tokyo", ToolChoice(mode="none"), None),
        ("Hello", ToolChoice(mode="required"), ("get_weather", {"city": "Hello"})),
        ("weather in Tokyo", ToolChoice(names=("send_note",)), None),
        ("weather in Tokyo", ToolChoice(mode="required", names=("send_note",)), ("send_note", {})),
    ],
)
def test_without_a_script_the_words_of_the_message_choose_the_tool(text, choice, called):
    reply = ScriptedModel().reply(ask(say("user", text), tool_choice=choice))
    found = [(item.call.name, item.call.arguments) for item in reply.calls]
    assert found == ([called] if called else [])
    assert bool(reply.text) == (called is None)


def test_without_a_script_a_result_is_told_and_ends_the_turn():
    call = ScriptedModel().reply(ask(say("user", "weather in Tokyo"))).items[0]
    assert isinstance(call, CallItem)
    result = ResultItem(call_id=call.call.call_id, parts=(TextPart(text="sunny"),))
    assert (
        ScriptedModel().reply(ask(say("user", "weather in Tokyo"), call, result)).text == "Here is what I found: sunny"
    )


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"type": "integer"}, 4),
        ({"type": "number"}, 4.5),
        ({"type": "boolean"}, True),
        ({"enum": ["red", "blue"]}, "blue"),
        ({"enum": ["x", "y"]}, "x"),
        ({"default": 7}, 7),
        ({"const": "c"}, "c"),
        ({"type": ["string", "null"]}, "Nonna"),
        ({"type": "array", "items": {"type": "string"}}, ["Nonna"]),
        ({"type": "object", "properties": {"n": {"type": "integer"}}}, {"n": 4}),
        ({"type": "null"}, None),
        (True, "Nonna"),
    ],
)
def test_arguments_are_taken_from_the_words_as_the_schema_wants_them(schema, value):
    text = "book a blue table at Nonna for 4.5 people"
    assert arguments_for({"properties": {"a": schema}}, text) == {"a": value}


def test_fault_plans_are_the_same_for_the_same_seed_and_strike_at_their_rate():
    def kinds(seed, rate):
        plan = ModelFaults(seed=seed, rate=rate)
        return [plan.fault(number) for number in range(400)]

    assert kinds(1, 0.5) == kinds(1, 0.5)
    assert kinds(1, 0.5) != kinds(2, 0.5)
    assert 150 < sum(fault is not None for fault in kinds(1, 0.5)) < 250
    assert not any(kinds(1, 0))
    assert all(kinds(1, 1))
    assert {fault.kind for fault in kinds(3, 1)} == {fault.kind for fault in DEFAULT_FAULTS} == set(FaultKind)


@pytest.mark.parametrize("rate", [-0.01, 1.01])
def test_a_rate_outside_zero_to_one_is_refused(rate):
    with pytest.raises(ValueError, match="between 0 and 1"):
        ModelFaults(rate=rate)


def test_a_listed_fault_strikes_exactly_its_request():
    fault = Fault(kind=FaultKind.STATUS, status=529)
    plan = ModelFaults(at={1: fault})
    assert [plan.fault(number) for number in range(3)] == [None, fault, None]


def spoiled(kind):
    model = ScriptedModel(Answer("well", (Ask("a", {"x": 1}), Ask("b", {"y": 2}))))
    reply = model.reply(ask(say("user", "x"), tools=LETTERS))
    return spoil(reply, Fault(kind=kind))


def test_faults_of_the_content_change_it_as_they_say():
    assert [item.call.raw for item in spoiled(FaultKind.TRUNCATED_CALL).calls] == ['{"x":1}', '{"y":']
    assert [item.complete for item in spoiled(FaultKind.TRUNCATED_CALL).calls] == [True, False]
    assert spoiled(FaultKind.TRUNCATED_CALL).finish.reason == FinishReason.LENGTH
    assert [item.call.raw for item in spoiled(FaultKind.MALFORMED_CALL).calls] == ['{"x":1}', '{"y":2,}']
    assert spoiled(FaultKind.EMPTY).items == ()
    assert spoiled(FaultKind.THINKING_LEAK).text.startswith("<think>")
    assert spoiled(FaultKind.THINKING_LEAK).text.endswith("</think>well")


@pytest.mark.parametrize("kind", ["timeout", "status", "cut", "slow_drip", "wrong_content_type", "duplicate_ids"])
def test_faults_that_are_made_on_the_wire_leave_the_content_alone(kind):
    assert spoiled(FaultKind(kind)).text == "well"
    assert len(spoiled(FaultKind(kind)).calls) == 2
