import pytest

from groundwire.contracts.intents import Intent, IntentType
from groundwire.runtime.state import BUILT_IN_REDUCERS, StateController, at_turn_start

CONTROLLER = StateController()


def apply(*intents, controller=CONTROLLER, state=None):
    state = state or {}
    for intent in intents:
        state = controller.apply(state, intent)
    return state


@pytest.mark.requirement("B-020", "B-023")
def test_every_intent_of_the_contract_is_known():
    assert set(BUILT_IN_REDUCERS) == set(IntentType)
    assert {member.value for member in IntentType} == {
        *("END_VOICE_SESSION", "SUPPRESS_AUDIO", "SUPPRESS_TRANSCRIPT", "SET_PENDING_MESSAGE")
    }
    assert not CONTROLLER.knows(Intent(type="SOMETHING"))


@pytest.mark.parametrize(
    ("intent", "state"),
    [
        (Intent(type="END_VOICE_SESSION"), {"end_voice_session": True}),
        (Intent(type="END_VOICE_SESSION", payload={"reason": "bye"}), {"end_voice_session": {"reason": "bye"}}),
        (Intent(type="SUPPRESS_AUDIO"), {"suppress_audio": True}),
        (Intent(type="SUPPRESS_TRANSCRIPT"), {"suppress_transcript": True}),
        (Intent(type="SET_PENDING_MESSAGE", payload={"text": "hi"}), {"pending_message": {"text": "hi"}}),
    ],
)
def test_an_intent_becomes_state_beside_what_was_there(intent, state):
    assert apply(intent, state={"kept": 1}) == {"kept": 1, **state}


@pytest.mark.requirement("B-125")
def test_the_pending_message_has_one_slot_and_the_last_wins():
    state = apply(*(Intent(type="SET_PENDING_MESSAGE", payload={"text": text}) for text in ("a", "b")))
    assert state == {"pending_message": {"text": "b"}}


def test_a_reducer_does_not_change_the_state_that_it_is_given():
    before = {"kept": 1}
    apply(Intent(type="SUPPRESS_AUDIO"), state=before)
    assert before == {"kept": 1}


def test_an_application_adds_intents_and_may_replace_those_that_exist():
    controller = StateController(
        {"MOVE": lambda state, payload: {**state, "at": payload["to"]}, "SUPPRESS_AUDIO": lambda state, _: state}
    )
    intents = (Intent(type="MOVE", payload={"to": 3}), Intent(type="SUPPRESS_AUDIO"))
    assert apply(*intents, controller=controller) == {"at": 3}


@pytest.mark.requirement("B-125")
@pytest.mark.parametrize(
    ("state", "kept", "pending"),
    [
        ({}, {}, None),
        ({"suppress_audio": True, "suppress_transcript": True, "x": 1}, {"x": 1}, None),
        ({"pending_message": {"text": "hi"}, "end_voice_session": True}, {"end_voice_session": True}, {"text": "hi"}),
        ({"pending_message": "odd"}, {}, None),
    ],
)
def test_a_turn_begins_without_what_held_for_the_last_one(state, kept, pending):
    assert at_turn_start(state) == (kept, pending)
