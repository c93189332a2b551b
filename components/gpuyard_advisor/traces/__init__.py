"""Traces of jobs that ran elsewhere: readers of each format, and what is wrong with a trace."""

from gpuyard_advisor.traces.kueue import read_trace
from gpuyard_advisor.traces.records import (
    InvalidTrace,
    ReadOptions,
    TraceJob,
    TraceProblem,
    TraceReading,
)

__all__ = ["InvalidTrace", "ReadOptions", "TraceJob", "TraceProblem", "TraceReading", "read_trace"]
