"""Names of headers and of request state that all endpoints share. Imports no server, so that any can serve them."""

SESSION_HEADER = "x-groundwire-session-id"
"""The conversation that a request belongs to."""
APPROVAL_HEADER = "x-groundwire-approval-id"
"""The approvals that the calls of a request wait for: ids, separated by commas."""
TENANT = "tenant"
"""The name under which an ASGI endpoint puts the tenant into the state of a request."""
