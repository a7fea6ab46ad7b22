"""OpenAI Responses: items instead of messages, a flat form for tools, and a stream with a whole life cycle of events."""

from groundwire.codecs.openai_responses.declarations import encode_declaration, lint_name
from groundwire.codecs.openai_responses.failures import decode_error, encode_error, failure_in
from groundwire.codecs.openai_responses.profile import DIALECT, Profile
from groundwire.codecs.openai_responses.request_reading import decode_request
from groundwire.codecs.openai_responses.request_writing import encode_request
from groundwire.codecs.openai_responses.responses import decode_response, encode_response
from groundwire.codecs.openai_responses.stream_reading import StreamDecoder
from groundwire.codecs.openai_responses.stream_writing import StreamEncoder

__all__ = [
    "DIALECT",
    "Profile",
    "StreamDecoder",
    "StreamEncoder",
    "decode_error",
    "decode_request",
    "decode_response",
    "encode_declaration",
    "encode_error",
    "encode_request",
    "encode_response",
    "failure_in",
    "lint_name",
]
