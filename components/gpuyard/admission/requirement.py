"""The form of a requirement, and of what is said of a workload that does not keep it."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from gpuyard.admission.parameters import TeamParameters
from gpuyard.findings import Path
from gpuyard.manifests.pods import Pod


@dataclass(frozen=True, slots=True)
class Workload:
    """A pod, or what makes pods, as it is written."""

    kind: str
    """Without its group."""
    metadata: Mapping[str, Any]
    pods: tuple[Pod, ...]
    jobs_metadata: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Of a CronJob's jobs."""
    body: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """All of it."""
    suspended: bool = False
    """Whether it is told to wait."""
    was: "Workload | None" = None
    """What stood there before, where it is changed: only the API server knows."""
    by_controller: bool = False
    """Whether a controller of the cluster asks, and nobody of the team: the API server knows that too."""


@dataclass(frozen=True, slots=True)
class Violation:
    """One thing that is wrong, and what to change."""

    path: Path
    problem: str
    fix: str


@dataclass(frozen=True, slots=True)
class ViolationTemplate:
    """What is said of one slip. Names in braces stand for values; Python and CEL put in the same ones."""

    problem: str
    fix: str

    def violation(self, path: Path, /, **values: str) -> Violation:
        """The slip with its values."""
        return Violation(path, self.problem.format(**values), self.fix.format(**values))


@dataclass(frozen=True, slots=True)
class Requirement:
    """One thing that workloads of a team are held to."""

    id: str
    """Of the rule that says the same of files."""
    title: str
    check: Callable[[Workload, TeamParameters], Iterator[Violation]]


@dataclass(frozen=True, slots=True)
class Denial:
    """A requirement that a workload does not keep."""

    id: str
    violation: Violation

    def __str__(self) -> str:
        return f"{self.id}: {self.violation.problem}; {self.violation.fix}"
