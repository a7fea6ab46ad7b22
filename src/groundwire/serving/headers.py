"""Names of headers that every door knows. Knows no server, so that a door may be served by any."""

SESSION_HEADER = "x-groundwire-session-id"
"""The conversation that a request belongs to."""
