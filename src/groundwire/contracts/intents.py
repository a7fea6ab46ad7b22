"""Intents: what a tool would like to happen to the session. Only the orchestrator makes it happen."""

from enum import StrEnum

from msgspec import Struct, field

from groundwire.contracts.canonical import JsonObject


class IntentType(StrEnum):
    END_VOICE_SESSION = "END_VOICE_SESSION"
    SUPPRESS_AUDIO = "SUPPRESS_AUDIO"
    SUPPRESS_TRANSCRIPT = "SUPPRESS_TRANSCRIPT"
    SET_PENDING_MESSAGE = "SET_PENDING_MESSAGE"


class Intent(Struct, frozen=True, kw_only=True):
    """One wish. Applications may use types of their own beside those of `IntentType`."""

    type: str
    payload: JsonObject = field(default_factory=dict)
