"""Explanations of jobs: whether a job starts, where, on which conditions, with which preemptions; or why not.

The same steps that Kueue and the scheduler take, in the same order, on plain values.
"""

from gpuyard_advisor.explain.answer import explain
from gpuyard_advisor.explain.records import Explanation, Verdict

__all__ = ["Explanation", "Verdict", "explain"]
