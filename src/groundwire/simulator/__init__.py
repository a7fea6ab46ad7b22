"""The place for a local server that behaves like the model vendors, faults included.

It will only serve the scripts that live in providers, and not know the runtime that is tried against it.
"""
