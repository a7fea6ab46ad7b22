"""What is known of a trial when it is over. Checks see this and nothing else, so any of them can be run again later."""

from msgspec import Struct

from groundwire.contracts.canonical import JsonObject, JsonValue
from groundwire.evals.records import CallTrace, Tokens


class Evidence(Struct, frozen=True, kw_only=True):
    outcome: str
    text: str
    calls: tuple[CallTrace, ...]
    state: JsonValue
    conversation: tuple[JsonObject, ...]
    instructions: str = ""
    steps: int = 0
    latency_ms: float = 0.0
    tokens: Tokens = Tokens()
    cost: float | None = None
