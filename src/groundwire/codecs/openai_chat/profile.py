"""What one endpoint or model wants beyond the Chat dialect, and how private data of the dialect is told apart.

Knows no provider by name: who has which profile is decided above.
"""

from typing import Literal

from msgspec import Struct

from groundwire.codecs.wire.ids import OPENAI_CHAT_IDS, IdRule
from groundwire.codecs.wire.warnings import Losses
from groundwire.contracts.canonical import JsonObject
from groundwire.contracts.messages import Private

DIALECT = "openai-chat"

NOTHING: JsonObject = {}
"""Stands in for private data that is not there; never written to."""


class Profile(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """The defaults are OpenAI's own newest API. Names of options are those of the wire."""

    max_tokens_field: Literal["max_completion_tokens", "max_tokens"] = "max_completion_tokens"
    call_ids: IdRule = OPENAI_CHAT_IDS
    merge_same_role: bool = False
    """Chat templates that demand alternating roles."""
    tool_message_name: bool = False
    """Tool messages carry the tool's name (Mistral)."""
    empty_content: Literal["null", "empty"] = "null"
    """What stands beside calls without text."""
    requires_reasoning_content: bool = False
    """Every assistant message must carry `reasoning_content` (DeepSeek while thinking)."""
    dropped_options: frozenset[str] = frozenset()
    """Options that the model refuses."""
    effort_with_tools: str | None = None
    """The only `reasoning_effort` that the model takes together with tools."""
    system_role: Literal["system", "developer", "user"] | None = None
    """The role that system and developer messages get; None leaves each as it is."""
    refuses_required: bool = False
    required_word: Literal["required", "any"] = "required"
    allowed_tools: bool = True
    """The server knows the tool choice `allowed_tools`; otherwise only the chosen tools are offered."""
    custom_tools: bool = True
    """The server knows free-text tools; otherwise they are offered as functions with the argument `input`."""
    max_description: int | None = None
    """The server refuses longer descriptions of tools, so they are cut."""
    minimal_messages: bool = False
    """Messages without members that only some servers know."""
    flat_text: bool = False
    """Texts in several parts are sent as one string."""
    google_signatures: bool = False
    """The server is Google's: thought signatures go along in `extra_content`."""
    stream_usage: bool = True
    """Streams are asked for their usage."""
    takes_top_k: bool = False


def own(private: Private) -> JsonObject:
    """What this dialect said about a thing."""
    return private.get(DIALECT, NOTHING)


def visible(members: JsonObject) -> JsonObject:
    """The members that go to the wire: names with an underscore in front are our own notes on its shape."""
    return {name: value for name, value in members.items() if name[:1] != "_"}


def present(source: JsonObject, known: frozenset[str]) -> JsonObject:
    """The members that nobody here knows, without nulls, which say nothing, and without what looks like our notes."""
    if source.keys() <= known:
        return NOTHING
    return {
        name: value for name, value in source.items() if name not in known and value is not None and name[:1] != "_"
    }


def note_foreign(private: Private, path: str, losses: Losses, *, carried: frozenset[str] = frozenset()) -> None:
    """Private data of other dialects stays behind, except the members that are carried in another way."""
    for dialect, members in private.items():
        if dialect != DIALECT and not (members.keys() <= carried):
            names = [name for name in members if name[:1] != "_" and name not in carried]
            if names:
                losses.add("private_dropped", path, f"{', '.join(names)} of {dialect} was left out.")
