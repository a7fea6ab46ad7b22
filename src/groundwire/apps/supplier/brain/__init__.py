"""A reference brain: the service at the other end, which takes signals, checks them and lists them for operations.

It could be written by anybody else, and so it knows nothing of the outbox: only what travels.
"""
