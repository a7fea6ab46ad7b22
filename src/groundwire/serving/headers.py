"""Names of headers that every door knows. Knows no server, so that a door may be served by any."""

SESSION_HEADER = "x-groundwire-session-id"
"""The conversation that a request belongs to."""
APPROVAL_HEADER = "x-groundwire-approval-id"
"""The approvals that the calls of a request wait for: ids, separated by commas."""
