"""The loop: one run from a user's message to a named outcome. It knows tools, models and stores only by their ports."""
