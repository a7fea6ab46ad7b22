"""Session state and intents. Tools only wish; this is the one place where a wish changes anything. Pure."""

from collections.abc import Callable, Mapping
from typing import TypeAlias

from groundwire.contracts.canonical import JsonObject, dump_json
from groundwire.contracts.errors import InvalidJson
from groundwire.contracts.intents import Intent, IntentType

Reducer: TypeAlias = Callable[[JsonObject, JsonObject], JsonObject]
"""(state, the intent's payload) → the new state. Must not change what it is given."""

PER_TURN = ("suppress_audio", "suppress_transcript")
PENDING_MESSAGE = "pending_message"


def _end_voice_session(state: JsonObject, payload: JsonObject) -> JsonObject:
    return {**state, "end_voice_session": payload or True}


def _suppress_audio(state: JsonObject, _: JsonObject) -> JsonObject:
    return {**state, "suppress_audio": True}


def _suppress_transcript(state: JsonObject, _: JsonObject) -> JsonObject:
    return {**state, "suppress_transcript": True}


def _set_pending_message(state: JsonObject, payload: JsonObject) -> JsonObject:
    return {**state, PENDING_MESSAGE: payload}


BUILT_IN_REDUCERS: dict[str, Reducer] = {
    IntentType.END_VOICE_SESSION: _end_voice_session,
    IntentType.SUPPRESS_AUDIO: _suppress_audio,
    IntentType.SUPPRESS_TRANSCRIPT: _suppress_transcript,
    IntentType.SET_PENDING_MESSAGE: _set_pending_message,
}


class StateController:
    """Applies intents to a session's state, in the order in which the calls ended."""

    def __init__(self, reducers: Mapping[str, Reducer] | None = None) -> None:
        self._reducers: dict[str, Reducer] = {**BUILT_IN_REDUCERS, **(reducers or {})}

    def knows(self, intent: Intent) -> bool:
        return intent.type in self._reducers

    def apply(self, state: JsonObject, intent: Intent) -> JsonObject:
        """The new state. Raises what the reducer raises, and InvalidJson when it gives anything but a JSON object."""
        changed = self._reducers[intent.type](state, intent.payload)
        if not isinstance(changed, dict):
            raise InvalidJson(f"the state after {intent.type} is no object")
        dump_json(changed)
        return changed


def at_turn_start(state: JsonObject) -> tuple[JsonObject, JsonObject | None]:
    """What holds only for one turn is cleared, and the pending message is taken out of its slot."""
    kept = {name: value for name, value in state.items() if name not in PER_TURN and name != PENDING_MESSAGE}
    pending = state.get(PENDING_MESSAGE)
    return kept, pending if isinstance(pending, dict) else None
