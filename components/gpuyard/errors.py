"""Errors of the library, drawn once.

    GpuYardError
    ├── SpecError            the stack file does not say a platform        exit 3
    ├── PlanRejected          the spec is well-formed but a proof refuses   exit 3
    ├── UsageError           wrong arguments, or a file that can't be read exit 2
    ├── EnvironmentMissing     a tool, cluster or credential is missing      exit 4
    └── LateValueMissing     render was not given a value known only later exit 2

Findings (`gpuyard.findings`) are values, not exceptions: everything wrong is reported at once. The
exceptions here end a call that has nothing better to return.
"""

from typing import ClassVar


class GpuYardError(Exception):
    """Root of every error this library raises on purpose."""

    exit_code: ClassVar[int] = 1


class UsageError(GpuYardError):
    """The caller asked for something that cannot be: a wrong name, an unreadable file."""

    exit_code = 2


class LateValueMissing(UsageError):
    """A manifest needs a value that only a running cluster knows, and none was given."""


class SpecError(GpuYardError):
    """The stack file does not describe a platform; the message lists every finding."""

    exit_code = 3


class PlanRejected(GpuYardError):
    """The spec is well-formed, but a proof refuses it; the message lists every finding."""

    exit_code = 3


class EnvironmentMissing(GpuYardError):
    """A tool, a cluster or a credential that the command needs is not there."""

    exit_code = 4
