"""What one endpoint or model wants beyond the Chat dialect.

Knows no provider by name: who has which profile is decided above.
"""

from typing import Literal

from msgspec import Struct

from groundwire.codecs.wire.ids import OPENAI_CHAT_IDS, IdRule

DIALECT = "openai-chat"


class Profile(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """The defaults are OpenAI's own newest API. Names of options are those of the wire."""

    max_tokens_field: Literal["max_completion_tokens", "max_tokens"] = "max_completion_tokens"
    takes_max_tokens: bool = True
    """Whoever wrote `max_tokens` is believed; otherwise the limit goes by the field above."""
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
