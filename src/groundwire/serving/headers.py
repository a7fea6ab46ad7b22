"""Names in requests that every endpoint knows. Independent of the server, so that any may serve them."""

SESSION_HEADER = "x-groundwire-session-id"
"""The conversation that a request belongs to."""
APPROVAL_HEADER = "x-groundwire-approval-id"
"""The approvals that the calls of a request wait for: ids, separated by commas."""
TENANT = "tenant"
"""Where an ASGI endpoint notes, in the state of a request, whose request it is."""
