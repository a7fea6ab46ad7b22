"""Webhooks as Standard Webhooks 1.0.0 has them: signing, verifying, and one attempt to deliver.

Knows bytes, keys and addresses; nothing of what an event means, nor who keeps what is to be tried again.
"""
