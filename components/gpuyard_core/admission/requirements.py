"""All requirements, in reporting order."""

from collections.abc import Iterator

from gpuyard_core.admission.bypass import check_bypass
from gpuyard_core.admission.host import check_host_device_paths, check_privileges, check_volumes
from gpuyard_core.admission.images import check_image_sources
from gpuyard_core.admission.owned_objects import check_non_pod_objects, check_owner_references
from gpuyard_core.admission.parameters import TeamParameters
from gpuyard_core.admission.placement import check_placement, check_shares
from gpuyard_core.admission.priority_and_termination import (
    check_container_count,
    check_guaranteed_qos,
    check_priority_and_termination,
)
from gpuyard_core.admission.queued import check_queueing
from gpuyard_core.admission.remaining_pods import check_volcano_queue
from gpuyard_core.admission.requirement import Requirement, Workload
from gpuyard_core.findings import Diagnostic, Severity
from gpuyard_core.manifests.quantities import Violation


def _check_queue(workload: Workload, parameters: TeamParameters) -> Iterator[Violation]:
    """The queue of the engine that queues jobs."""
    check = check_volcano_queue if parameters.volcano_queue else check_queueing
    return check(workload, parameters)


QUEUED = Requirement(
    "GPU-ADM-01", "Workloads of a team that request GPUs name a queue", _check_queue
)
BYPASS = Requirement(
    "GPU-POD-01",
    "GPUs are requested as resources, not through the environment or runtime class",
    check_bypass,
)
PRIVILEGES = Requirement(
    "GPU-ADM-02", "Pods of a team have no privileges and no host resources", check_privileges
)
DEVICES = Requirement(
    "GPU-ADM-03", "Pods of a team mount no host path that exposes devices", check_host_device_paths
)
PLACING = Requirement(
    "GPU-ADM-04", "Pods of a team stay off nodes that are dedicated to others", check_placement
)
SOURCES = Requirement(
    "GPU-ADM-05", "Images of a team come from allowed registries", check_image_sources
)
GUARANTEED = Requirement(
    "GPU-ADM-06", "Training pods have the Guaranteed QoS class", check_guaranteed_qos
)
OWNED = Requirement(
    "GPU-ADM-07", "Teams set no controller owner reference on their objects", check_owner_references
)
TURNS = Requirement(
    "GPU-ADM-08",
    "Pods of a team preempt no others and honour termination",
    check_priority_and_termination,
)
SHARES = Requirement("GPU-SHR-05", "A container requests at most one share of a GPU", check_shares)
VOLUMES = Requirement(
    "GPU-ADM-09", "Pods of a team mount only volumes of the cluster", check_volumes
)

REQUIREMENTS = (
    QUEUED,
    OWNED,
    BYPASS,
    PRIVILEGES,
    DEVICES,
    PLACING,
    SOURCES,
    GUARANTEED,
    TURNS,
    SHARES,
    VOLUMES,
)

BELONGINGS = Requirement(
    "GPU-ADM-10", "Other objects of a team take nothing from other teams", check_non_pod_objects
)
"""Requirements for objects without pods, and for claims of StatefulSets."""


def denials(workload: Workload, parameters: TeamParameters) -> Iterator[Diagnostic]:
    """All requirements that a workload of a team violates."""
    for violation in check_container_count(workload):
        yield violation.diagnostic(TURNS.id, Severity.ERROR)
        return
    for requirement in REQUIREMENTS:
        for violation in requirement.check(workload, parameters):
            yield violation.diagnostic(requirement.id, Severity.ERROR)
