"""The exit codes of `gpuyard`, each once. `gpuyard --help` lists them.

Where an error ends a command, its class says the code (`gpuyard.errors`); these are the same numbers for
commands that have a result to show first.
"""

from gpuyard.errors import EnvironmentMissing, GpuYardError, PlanRejected, UsageError

OK = 0
INTERNAL_ERROR = GpuYardError.exit_code
"""Of ours: nothing in the input should lead here."""
USAGE = UsageError.exit_code
"""Wrong usage, or a file that can't be read."""
FINDINGS = PlanRejected.exit_code
"""Findings at or above `--fail-on`; also the answer of `explain`, `mig` and `pack` that it can't be."""
ENVIRONMENT_MISSING = EnvironmentMissing.exit_code
"""The environment lacks a tool, a cluster, a credential or room on a disk."""
BAD_HARDWARE = 8
"""`validate`: GPUs that are not what they should be."""
INTERRUPTED = 130
"""By Ctrl-C, as shells count it."""
