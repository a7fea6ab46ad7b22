"""The suites that ship."""

from groundwire.evals.suites.workspace import WORKSPACE

SUITES = {suite.name: suite for suite in (WORKSPACE,)}

__all__ = ["SUITES", "WORKSPACE"]
