"""The suites that ship, and where one's own are found."""

from groundwire.evals.suites.workspace import WORKSPACE

__all__ = ["WORKSPACE"]
