"""What translation could not carry over, as data on its result: never a silent drop.

The path of a warning leads to the place in the canonical request or reply that was translated: `sampling.seed`,
`items[3].parts[0]`, `tools[1].parameters`, `extras.gemini.safetySettings`. It never names a member of a wire body, and
places are those of the value as it was given, however the items were ordered for the target.
"""

from collections.abc import Iterable

from msgspec import Struct, field

from groundwire.codecs.schemas.conversions import SchemaWarning
from groundwire.contracts.canonical import JsonObject
from groundwire.contracts.replies import WireWarning
from groundwire.contracts.requests import NativeTool

__all__ = ["WIRE_WARNINGS", "Encoded", "Losses", "WireWarning"]

WIRE_WARNINGS: dict[str, str] = {
    "arguments_not_object": "arguments that are no JSON object were sent wrapped, because the target takes objects only",
    "call_dropped": "a call was left out: it was cut off and clients run every call they see, or there is room for one only",
    "call_id_rewritten": "a call id breaks the target's rule and was replaced, in the call and in its result",
    "choice_approximated": "the tool choice has no equal in the target; the nearest one was sent",
    "citation_dropped": "citations that the target has no place for were left out",
    "empty_text_dropped": "an empty text that the target refuses was left out",
    "extra_dropped": "a member that only the sender's dialect knows was left out",
    "fallback_used": "the model that was asked for failed, and another one answered",
    "failure_unmarked": "a result that failed has no mark for it in the target; only its text can say so",
    "finish_approximated": "the reason of the end has no equal in the target; the nearest one was sent",
    "format_approximated": "the output format has no equal in the target; the nearest one was sent",
    "frame_approximated": "a frame of a live session has no equal in the target; the nearest one was sent",
    "frame_dropped": "a frame that the target's live sessions do not have was left out",
    "media_moved": "media of a tool result went into a user message after it",
    "media_dropped": "media that the target cannot take was replaced by a note in words",
    "message_moved": "a message stood between calls and their results and was moved behind them",
    "name_rewritten": "a tool name breaks the target's rule and was replaced; the way back is in the name table",
    "native_dropped": "an entry that only the sender's provider understands was left out",
    "option_adjusted": "an option was brought into the range that the target takes",
    "option_dropped": "an option that the target does not have was left out",
    "placeholder_added": "a message was added because the target's conversation cannot begin or go on without it",
    "private_dropped": "provider-private data (signature, ciphertext, cache marker) was left out for another provider",
    "reasoning_dropped": "reasoning of another provider was left out",
    "result_added": "a call without a result got one that says so",
    "result_orphaned": "a result without its call was sent as text",
    "role_changed": "a message changed its role, because the target does not have the original one",
    "schema": "a tool's or output's schema was changed for the target; the code of the change leads the message",
    "signature_added": "a call without a thought signature got the placeholder that the provider documents",
    "simulated": "no model was asked: the built-in one answered",
    "tool_dropped": "a tool that only the sender's provider can run was left out",
    "transforms_skipped": "named transforms work on the OpenAI-chat shape, and this provider speaks another",
    "usage_dropped": "a usage counter that the target has no place for was left out",
}
"""Every code with its meaning; the reference page is made from it."""


class Encoded(Struct, frozen=True, kw_only=True):
    """A wire body with everything that was lost on the way into it.

    `names` leads from the tool names on the wire back to the caller's, for all tools that were declared.
    """

    body: JsonObject
    warnings: tuple[WireWarning, ...] = ()
    names: dict[str, str] = field(default_factory=dict)


class Losses:
    """Collects warnings in the order found, each once."""

    __slots__ = ("_found",)

    def __init__(self) -> None:
        self._found: dict[tuple[str, str, str], WireWarning] = {}

    def add(self, code: str, path: str, message: str) -> None:
        if code not in WIRE_WARNINGS:
            raise KeyError(code)
        self._found.setdefault((code, path, message), WireWarning(code=code, path=path, message=message))

    def add_schema(self, path: str, warnings: Iterable[SchemaWarning]) -> None:
        for warning in warnings:
            self.add("schema", path + warning.path, f"{warning.code}: {warning.message}")

    def add_tool(self, path: str, tool: NativeTool) -> None:
        """A tool that only the provider of another dialect can run, by the name that it has there."""
        value = tool.value
        name = value.get("name") or value.get("type") or next(iter(value), "A tool")
        self.add("tool_dropped", path, f"{name} was left out: only {tool.origin} can run it.")

    def taken(self) -> tuple[WireWarning, ...]:
        return tuple(self._found.values()) if self._found else ()
