"""What the doors share: exchanges over HTTP, request ids, keys, and running a server.

Knows HTTP and keys, but no dialect's routes, nor which door is using it.
"""
