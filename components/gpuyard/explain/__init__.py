"""Explanations of jobs: would one start, where, on what condition, at whose expense; or why never.

The same steps that Kueue and the scheduler take, in the same order, on plain values.
"""

from gpuyard.explain.answer import explain
from gpuyard.explain.records import Explanation, Verdict

__all__ = ["Explanation", "Verdict", "explain"]
