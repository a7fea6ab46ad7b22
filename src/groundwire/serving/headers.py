"""Names in requests that every endpoint knows. Independent of the server, so that any may serve them."""

SESSION_HEADER = "x-groundwire-session-id"
"""The conversation that a request belongs to."""
TENANT = "tenant"
"""Where an ASGI endpoint notes, in the state of a request, whose request it is."""
