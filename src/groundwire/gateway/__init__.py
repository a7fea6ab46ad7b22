"""The place for the HTTP door: model endpoints in four dialects, for clients and towards upstreams.

It will move bytes between codecs and the runtime, hold no state of its own and know no other door.
"""
