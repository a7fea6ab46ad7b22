"""Anthropic Messages: requests, responses, streams and errors between the wire and the canonical values.

Knows nothing of HTTP, keys or model names; a `Profile` tells what one endpoint or model wants beyond the dialect.
"""

from groundwire.codecs.anthropic_messages.declarations import encode_declaration, lint_name
from groundwire.codecs.anthropic_messages.failures import decode_error, encode_error, failure_in
from groundwire.codecs.anthropic_messages.profile import DIALECT, Profile
from groundwire.codecs.anthropic_messages.request_reading import decode_request
from groundwire.codecs.anthropic_messages.request_writing import encode_request
from groundwire.codecs.anthropic_messages.responses import decode_response, encode_count, encode_response
from groundwire.codecs.anthropic_messages.stream_reading import StreamDecoder
from groundwire.codecs.anthropic_messages.stream_writing import StreamEncoder

__all__ = [
    "DIALECT",
    "Profile",
    "StreamDecoder",
    "StreamEncoder",
    "decode_error",
    "decode_request",
    "decode_response",
    "encode_count",
    "encode_declaration",
    "encode_error",
    "encode_request",
    "encode_response",
    "failure_in",
    "lint_name",
]
