"""A tool call as it was asked for: the raw argument text beside what was read from it."""

from msgspec import Struct

from groundwire.contracts.canonical import JsonObject


class ToolCall(Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """One request to run a tool.

    `raw` is the argument text as received (the compact dump for dialects that send an object); sizes count on it.
    `arguments` is set only once it was read. `origin` names the dialect or door that the call came through.
    """

    call_id: str
    name: str
    raw: str
    arguments: JsonObject | None = None
    origin: str = "api"
