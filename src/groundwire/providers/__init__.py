"""The place for reaching models: transport, retries, profiles, and models that need no network: a scripted one
and one from a file.

A provider answers one request. It will not know the loop that asks, and will never run a tool.
"""
