"""How well models negotiate: the cases, a recording of what a model said in each, and what must come of them.

Cases go through the production pipeline. Nothing here is needed to run it.
"""

from groundwire.apps.supplier.evaluation.suite import make_suite

__all__ = ["make_suite"]
