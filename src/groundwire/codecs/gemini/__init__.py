"""Gemini generateContent: requests, responses, streams and errors between its wire and canonical values.

Knows the Gemini API and Vertex AI alike; where models differ, a `Profile` says so. Deliberately does not know URLs,
keys, retries, or which model exists.
"""

from groundwire.codecs.gemini.casing import DIALECT
from groundwire.codecs.gemini.declarations import (
    encode_declaration,
    encode_native_declaration,
    lint_name,
)
from groundwire.codecs.gemini.failures import decode_error, encode_error, failure_in
from groundwire.codecs.gemini.profiles import Profile, profile_for
from groundwire.codecs.gemini.request_reading import decode_request
from groundwire.codecs.gemini.request_writing import encode_request
from groundwire.codecs.gemini.response_writing import encode_response
from groundwire.codecs.gemini.responses import decode_response
from groundwire.codecs.gemini.stream_writing import StreamEncoder
from groundwire.codecs.gemini.streams import StreamDecoder
from groundwire.codecs.gemini.tools import encode_tools

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
    "encode_native_declaration",
    "encode_request",
    "encode_response",
    "encode_tools",
    "failure_in",
    "lint_name",
    "profile_for",
]
