"""The place for what the doors share: authentication, request ids, server-sent events and error answers.

It will know HTTP and keys, but no dialect's routes, nor which door is using it.
"""
