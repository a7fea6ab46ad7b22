"""Attacks on a running `groundwire serve`: `make attack`.

Each attack starts servers of its own in a temporary folder, on loopback, and uses only what an attacker or an operator
has: the command line, HTTP, files and signals. Nothing of the package under test is imported, so the same attacks run
against any commit (`--groundwire PATH`).
"""
