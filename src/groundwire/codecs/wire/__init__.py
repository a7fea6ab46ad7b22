"""What the wire formats have in common: JSON, server-sent events, ids, names, media, pairing, warnings, failures.

It knows no format by name; the packages beside it do.
"""
