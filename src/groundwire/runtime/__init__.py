"""The heart: one call through one pipeline, with every decision made by a pure policy and recorded.

Knows the store and the clock only as ports. Above it, `assembly` gives it concrete parts; below it is the registry.
"""
