"""What a trial is judged by: one function for each kind of check, from evidence to a finding."""

from groundwire.evals.graders.evidence import Evidence
from groundwire.evals.graders.grading import grade

__all__ = ["Evidence", "grade"]
