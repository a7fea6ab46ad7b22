"""What each provider and model family wants from its codec beyond the dialect, as far as it is known."""

import re
from functools import lru_cache
from typing import Any

import msgspec
from msgspec.structs import fields

from groundwire.codecs import anthropic_messages, gemini, openai_chat, openai_responses
from groundwire.codecs.dialects import Profile, codec_of
from groundwire.codecs.wire.ids import MISTRAL_IDS, OPENAI_OWN_CHAT_IDS
from groundwire.contracts.canonical import JsonObject
from groundwire.contracts.errors import ConfigError
from groundwire.contracts.requests import Dialect
from groundwire.contracts.shapes import explain_misfit

_REASONING_MODEL = re.compile(r"(?:^|/)(?:o[1-9]|gpt-5|gpt-6)")
_EFFORT_NONE = re.compile(r"(?:^|/)gpt-5\.(?:[4-9]|\d\d)")
_REFUSED_BY_REASONING = frozenset({"temperature", "top_p", "presence_penalty", "frequency_penalty"})
_NO_SAMPLING = re.compile(r"opus-(?:4-[7-9]|[5-9])|sonnet-[5-9]|fable|mythos")
_NO_FORCING = re.compile(r"fable|mythos")
_CLAUDE = re.compile(r"claude-(?:(?P<old>2|instant|3-(?:opus|sonnet|haiku))|(?P<middle>3-5))?")


@lru_cache(maxsize=1024)
def profile_of(dialect: Dialect, provider: str, model: str) -> Profile:
    """What this model wants beyond its dialect, by what is known of its family."""
    if dialect == "gemini":
        return gemini.profile_for(model)
    if dialect == "anthropic":
        return anthropic_messages.Profile(
            allows_sampling=not _NO_SAMPLING.search(model),
            allows_forced_choice=not _NO_FORCING.search(model),
            default_max_tokens=_usual_limit(model),
        )
    if dialect == "openai-responses":
        return openai_responses.Profile(
            dropped_options=_REFUSED_BY_REASONING if _REASONING_MODEL.search(model) else frozenset(),
            group_calls=provider == "deepseek",
        )
    return _chat_profile(provider, model)


def _usual_limit(model: str) -> int:
    """Where a request has no limit, Anthropic wants one: as much as any model of the family gives."""
    family = _CLAUDE.search(model)
    if family is None or family["middle"]:
        return 8192
    return 4096 if family["old"] else 32_000


def read_knobs(dialect: Dialect, wanted: JsonObject, setting: str) -> dict[str, Any]:
    """Single members of the dialect's profile, as settings name them; they win over what is known of a model."""
    kind = codec_of(dialect).Profile
    try:
        profile = msgspec.convert(wanted, kind)
        if isinstance(profile, openai_chat.Profile):
            re.compile(profile.call_ids.pattern)
    except msgspec.ValidationError as error:
        fault, hint = explain_misfit(str(error), kind)
        raise ConfigError(f"{setting}.{fault}", hint=hint) from None
    except re.error as error:
        raise ConfigError(f"{setting}.callIds.pattern: it is no pattern: {error}") from None
    return {field.name: getattr(profile, field.name) for field in fields(kind) if field.encode_name in wanted}


def _chat_profile(provider: str, model: str) -> openai_chat.Profile:
    if provider == "openai":
        is_reasoning = _REASONING_MODEL.search(model) is not None
        return openai_chat.Profile(
            takes_max_tokens=not is_reasoning,
            call_ids=OPENAI_OWN_CHAT_IDS,
            dropped_options=_REFUSED_BY_REASONING if is_reasoning else frozenset(),
            effort_with_tools="none" if _EFFORT_NONE.search(model) else None,
        )
    if provider == "mistral":
        return openai_chat.Profile(
            max_tokens_field="max_tokens", call_ids=MISTRAL_IDS, tool_message_name=True, merge_same_role=True
        )
    if provider == "deepseek":
        return openai_chat.Profile(
            max_tokens_field="max_tokens", requires_reasoning_content="reasoner" in model or "v4" in model
        )
    return openai_chat.Profile(max_tokens_field="max_tokens", takes_top_k=provider == "openrouter")
