"""OpenAI Realtime: events of both sides of a session, as frames and back. Reads the names of its beta too.

Knows no socket: callers bring each event as bytes, text or object.
"""

from groundwire.codecs.openai_realtime.client_reading import ClientDecoder, decode_client
from groundwire.codecs.openai_realtime.client_writing import ClientEncoder, encode_client
from groundwire.codecs.openai_realtime.naming import DIALECT
from groundwire.codecs.openai_realtime.server_reading import ServerDecoder, decode_server
from groundwire.codecs.openai_realtime.server_writing import ServerEncoder, encode_server

__all__ = [
    "DIALECT",
    "ClientDecoder",
    "ClientEncoder",
    "ServerDecoder",
    "ServerEncoder",
    "decode_client",
    "decode_server",
    "encode_client",
    "encode_server",
]
