"""OpenAI Chat Completions, and the many servers that speak it.

Pure functions between wire bodies and canonical values. It knows neither which provider answers nor how bytes travel:
what an endpoint wants beyond the dialect is said by a `Profile`.
"""

from groundwire.codecs.openai_chat.declarations import encode_declaration, lint_name
from groundwire.codecs.openai_chat.failures import decode_error, encode_error, failure_in
from groundwire.codecs.openai_chat.profile import DIALECT, Profile
from groundwire.codecs.openai_chat.request_reading import decode_request
from groundwire.codecs.openai_chat.request_writing import encode_request
from groundwire.codecs.openai_chat.responses import decode_response, encode_response
from groundwire.codecs.openai_chat.stream_reading import StreamDecoder
from groundwire.codecs.openai_chat.stream_writing import StreamEncoder

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
