"""Exceptions of the library.

    GpuYardError
    ├── SpecError            the stack file describes no valid platform    exit 3
    ├── PlanRejected          the spec is well-formed but a check fails     exit 3
    ├── UsageError           wrong arguments, or an unreadable file        exit 2
    ├── EnvironmentMissing     a tool, cluster or credential is missing      exit 4
    └── LateValueMissing     render needs a value of the running cluster   exit 2

Findings (`gpuyard_core.findings`) are values, not exceptions, so that all errors are reported at once. The
exceptions here end a call that has no result.
"""

from typing import ClassVar


class GpuYardError(Exception):
    """Base class of every error that this library raises deliberately."""

    exit_code: ClassVar[int] = 1


class UsageError(GpuYardError):
    """Invalid use: a wrong name, an unreadable file."""

    exit_code = 2


class OutputValueMissing(UsageError):
    """A manifest needs a value that only a running cluster knows, and it was not provided."""


class SpecError(GpuYardError):
    """The stack file describes no valid platform; the message lists every finding."""

    exit_code = 3


class PlanRejected(GpuYardError):
    """The spec is well-formed, but a check fails; the message lists every finding."""

    exit_code = 3


class EnvironmentMissing(GpuYardError):
    """A tool, cluster or credential that the command needs is missing."""

    exit_code = 4
