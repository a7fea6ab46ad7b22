"""Gemini Live (BidiGenerateContent): messages of both sides of its websocket, as frames and back.

Knows no socket: callers bring each message as bytes, text or object, whatever kind of websocket frame it came in.
"""

from groundwire.codecs.gemini_live.client_reading import decode_client
from groundwire.codecs.gemini_live.client_writing import ClientEncoder, encode_client
from groundwire.codecs.gemini_live.failures import decode_close, encode_close
from groundwire.codecs.gemini_live.naming import DIALECT
from groundwire.codecs.gemini_live.server_reading import ServerDecoder, decode_server
from groundwire.codecs.gemini_live.server_writing import ServerEncoder, encode_server

__all__ = [
    "DIALECT",
    "ClientEncoder",
    "ServerDecoder",
    "ServerEncoder",
    "decode_client",
    "decode_close",
    "decode_server",
    "encode_client",
    "encode_close",
    "encode_server",
]
