"""Opt-in corrections for providers and models that deviate, over the OpenAI-chat wire shape.

The provider applies them between codec and socket; other dialects have no use for them. They know neither the codec
nor the socket.
"""

from groundwire.contracts.transforms import parse_names
from groundwire.providers.transforms.applying import (
    MESSAGE_TRANSFORMS,
    RESPONSE_TRANSFORMS,
    TOOL_TRANSFORMS,
    Transform,
    apply_to_request,
    apply_to_response,
    names_unknown,
    skipped,
)

__all__ = [
    "MESSAGE_TRANSFORMS",
    "RESPONSE_TRANSFORMS",
    "TOOL_TRANSFORMS",
    "Transform",
    "apply_to_request",
    "apply_to_response",
    "names_unknown",
    "parse_names",
    "skipped",
]
