"""A local server that behaves like the model vendors, faults included, for scripts that live in providers.

`app` is the server, `rules_*` what each API refuses, `live` a session of Gemini Live. Does not know the runtime that is
tried against it, nor any other door.
"""
