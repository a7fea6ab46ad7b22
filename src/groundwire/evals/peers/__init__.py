"""Suites of others, run through our registry and dispatcher: domains in the style of τ²-bench, functions in BFCL's.

What is theirs is read from a folder that the user gives; nothing of it ships.
"""

from groundwire.evals.peers.bfcl import load_bfcl
from groundwire.evals.peers.tau import load_tau

__all__ = ["load_bfcl", "load_tau"]
