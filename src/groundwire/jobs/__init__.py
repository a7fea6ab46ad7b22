"""The place for durable work that happens later: follow-ups, deliveries, background tools, expiries.

It will stay off the path of a tool call and not know what a job's effect means; the ledger guards that.
"""
