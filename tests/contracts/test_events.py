import msgspec
import pytest

from groundwire.contracts import events
from groundwire.contracts.calls import ToolCall
from groundwire.contracts.errors import ErrorType
from groundwire.contracts.intents import Intent
from groundwire.contracts.messages import MediaPart, Message, TextPart, say
from groundwire.contracts.results import ErrorInfo, ToolResult

CALL = ToolCall(call_id="c", name="t", raw='{"a":1}')
EXAMPLES = [
    events.RunStarted(run_id="r", session_id="s"),
    events.TextDelta(text="hello"),
    events.CallStarted(call=CALL),
    events.CallProgress(call_id="c", name="t", value={"done": 0.5}),
    events.CallDenied(call_id="c", name="t", step="mask", error=ErrorInfo(type=ErrorType.AUTH, message="no")),
    events.CallFinished(call_id="c", name="t", result=ToolResult.success(1)),
    events.IntentApplied(call_id="c", intent=Intent(type="MOVE")),
    events.ApprovalRequested(call_id="c", name="t", confirmation_id="x", question="?", expires_at="t"),
    events.TurnEnded(session_id="s", turn=1, calls=2),
    events.RunEnded(run_id="r", outcome="completed"),
    events.JobEnded(job_id="j", status="done", call_id="c", name="t", result=ToolResult.success(1)),
    events.AppEvent(name="directive", payload={"to": 1}),
]


@pytest.mark.parametrize("event", EXAMPLES, ids=lambda event: event.event)
def test_an_event_is_named_in_its_json_and_read_back_as_itself(event):
    encoded = msgspec.json.encode(event)
    assert msgspec.json.decode(encoded)["event"] == event.event
    assert msgspec.json.decode(encoded, type=events.Event) == event


def test_every_kind_of_event_has_an_example_here():
    assert {type(event) for event in EXAMPLES} == set(events.Event.__args__)


def test_a_message_reads_as_the_text_of_its_parts():
    message = Message(
        role="user", parts=(TextPart(text="see "), MediaPart(media_type="image/png"), TextPart(text="it"))
    )
    assert message.text == "see it"
    assert say("user", "hi", turn=2) == Message(role="user", parts=(TextPart(text="hi"),), turn=2)


def test_a_message_survives_its_json():
    message = Message(role="user", parts=(TextPart(text="a"), MediaPart(media_type="image/png", data=b"\x00\xff")))
    assert msgspec.json.decode(msgspec.json.encode(message), type=Message) == message
