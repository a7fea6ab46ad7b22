"""The place for reaching models: transport, retries, profiles, and a scripted model that needs no network.

A provider answers one request. It will not know the loop that asks, and will never run a tool.
"""
