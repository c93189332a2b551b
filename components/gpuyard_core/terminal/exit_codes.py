"""The exit codes of `gpuyard`. `gpuyard --help` lists them.

An error that ends a command has its code in its class (`gpuyard_core.errors`); these are the same codes for
commands that show a result first.
"""

from gpuyard_core.errors import EnvironmentMissing, GpuYardError, PlanRejected, UsageError

OK = 0
INTERNAL_ERROR = GpuYardError.exit_code
"""A defect of gpuyard: no input should cause it."""
USAGE = UsageError.exit_code
"""Wrong usage, or an unreadable file."""
FINDINGS = PlanRejected.exit_code
"""Findings at or above `--fail-on`; also a negative result of `explain`, `mig` and `pack`."""
ENVIRONMENT_MISSING = EnvironmentMissing.exit_code
"""The environment lacks a tool, a cluster, a credential or disk space."""
BAD_HARDWARE = 8
"""`validate`: the hardware validation failed."""
INTERRUPTED = 130
"""Interrupted by Ctrl-C, as in shells: 128 + SIGINT."""
