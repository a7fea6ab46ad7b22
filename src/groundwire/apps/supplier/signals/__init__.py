"""Signals on their way to whoever acts on them: as events, through receivers, and kept until they have arrived.

Knows nothing of conversations; what a signal says was decided before.
"""
