"""The place for the operators' web page: what ran, what waits for approval, what is unknown and must be decided.

It will act through the same API as everyone, with no rights of its own.
"""
