"""A tool in the forms that providers want, under the artifact's names for them.

The one module of this layer that knows the codecs; they are imported when the first tool is declared.
"""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

from groundwire.contracts.errors import RegistryError
from groundwire.contracts.tools import ToolSpec, model_parameters

if TYPE_CHECKING:
    from groundwire.codecs.schemas.conversions import Declaration

Format: TypeAlias = Literal["openai", "openaiResponses", "anthropic", "geminiNative", "geminiJson", "mcp"]
FORMATS: tuple[Format, ...] = get_args(Format)
FORMAT_NAMES: dict[str, Format] = {
    **{form: form for form in FORMATS},
    "openai-chat": "openai",
    "openai-responses": "openaiResponses",
    "gemini": "geminiNative",
    "gemini-json": "geminiJson",
}
"""What users may say: the artifact's names, and those of the dialects."""


def format_named(name: str) -> Format:
    found = FORMAT_NAMES.get(name)
    if found is None:
        hint = f"Known: {', '.join(FORMAT_NAMES)}."
        raise RegistryError(f"{name!r} is not a declaration format.", reason="unknown_format", hint=hint)
    return found


def declare(spec: ToolSpec, form: Format) -> "Declaration":
    """Declare one tool, without the arguments that the executor supplies."""
    encode = _encoders()[form]
    extra: dict[str, Any] = {"result": spec.result, "category": spec.category} if form == "mcp" else {}
    return encode(
        name=spec.wire_name,
        description=spec.description or spec.summary,
        parameters=model_parameters(spec),
        **extra,
    )


def declare_all(spec: ToolSpec) -> "dict[Format, Declaration]":
    return {form: declare(spec, form) for form in FORMATS}


def _encoders() -> "Mapping[Format, Callable[..., Declaration]]":
    from groundwire.codecs import anthropic_messages, gemini, mcp, openai_chat, openai_responses

    return {
        "openai": openai_chat.encode_declaration,
        "openaiResponses": openai_responses.encode_declaration,
        "anthropic": anthropic_messages.encode_declaration,
        "geminiNative": gemini.encode_native_declaration,
        "geminiJson": gemini.encode_declaration,
        "mcp": mcp.encode_declaration,
    }
