"""Gemini generateContent: requests, responses, streams and errors between its wire and canonical values.

Knows the Gemini API and Vertex AI alike; where models differ, a `Profile` says so. Deliberately does not know URLs,
keys, retries, or which model exists.
"""

from groundwire.codecs.gemini.declarations import (
    encode_declaration,
    encode_native_declaration,
    lint_name,
)
from groundwire.codecs.gemini.failures import decode_error, encode_error, failure_in
from groundwire.codecs.gemini.profile import DIALECT, Profile, profile_for
from groundwire.codecs.gemini.request_reading import decode_request
from groundwire.codecs.gemini.request_writing import encode_request
from groundwire.codecs.gemini.response_reading import decode_response
from groundwire.codecs.gemini.response_writing import encode_response
from groundwire.codecs.gemini.stream_reading import StreamDecoder
from groundwire.codecs.gemini.stream_writing import StreamEncoder

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
    "failure_in",
    "lint_name",
    "profile_for",
]
