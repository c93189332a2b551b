"""Data types of requirements and their violations."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from gpuyard_core.admission.parameters import TeamParameters
from gpuyard_core.catalogue.tables import read_yaml
from gpuyard_core.findings import Path as FieldPath
from gpuyard_core.manifests.pods import Pod
from gpuyard_core.manifests.quantities import Violation


@dataclass(frozen=True, slots=True)
class Workload:
    """A pod, or an object that creates pods, as written."""

    kind: str
    """Kind without its group."""
    metadata: Mapping[str, Any]
    pods: tuple[Pod, ...]
    jobs_metadata: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Metadata of a CronJob's jobs."""
    body: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """The complete object."""
    suspended: bool = False
    """Whether it is suspended."""
    previous: "Workload | None" = None
    """The previous object of an update; only known to the API server."""
    by_controller: bool = False
    """Whether the request comes from a controller of the cluster, not from a team member; only
    known to the API server.
    """


@dataclass(frozen=True, slots=True)
class ViolationTemplate:
    """Message and fix of a violation, with placeholders in braces for Python and CEL."""

    problem: str
    fix: str


@cache
def violation_templates() -> Mapping[str, ViolationTemplate]:
    """The messages in `violations.yaml`, by module and name."""
    file = Path(__file__).with_name("violations")
    templates: Mapping[str, ViolationTemplate] = read_yaml(
        str(file), Mapping[str, ViolationTemplate]
    )
    return templates


def new_violation(name: str, path: FieldPath, /, **values: str) -> Violation:
    """A violation at a path, with its message filled in."""
    template = violation_templates()[name]
    return Violation(path, template.problem.format(**values), template.fix.format(**values))


@dataclass(frozen=True, slots=True)
class Requirement:
    """A requirement that the API server checks for workloads of a team."""

    id: str
    """Id of the rule that checks the same in files."""
    title: str
    check: Callable[[Workload, TeamParameters], Iterator[Violation]]
