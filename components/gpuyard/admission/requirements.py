"""All requirements, in the order in which they are said."""

from collections.abc import Iterator

from gpuyard.admission.belongings import belongings
from gpuyard.admission.bypass import bypasses
from gpuyard.admission.guaranteed import guaranteed
from gpuyard.admission.host import devices, privileges
from gpuyard.admission.owned import owned
from gpuyard.admission.parameters import TeamParameters
from gpuyard.admission.placing import placing
from gpuyard.admission.queued import queued
from gpuyard.admission.requirement import Refusal, Requirement, Workload
from gpuyard.admission.shares import shares
from gpuyard.admission.sources import sources
from gpuyard.admission.turns import crowded, turns
from gpuyard.admission.volumes import volumes

QUEUED = Requirement("GPU-ADM-01", "Workloads of a team that request GPUs name a queue", queued)
BYPASS = Requirement(
    "GPU-POD-01",
    "GPUs are requested as resources, not through the environment or runtime class",
    bypasses,
)
PRIVILEGES = Requirement(
    "GPU-ADM-02", "Pods of a team have no privileges and no host resources", privileges
)
DEVICES = Requirement(
    "GPU-ADM-03", "Pods of a team mount no host path that exposes devices", devices
)
PLACING = Requirement(
    "GPU-ADM-04", "Pods of a team stay off nodes that are dedicated to others", placing
)
SOURCES = Requirement("GPU-ADM-05", "Images of a team come from allowed registries", sources)
GUARANTEED = Requirement("GPU-ADM-06", "Training pods have the Guaranteed QoS class", guaranteed)
OWNED = Requirement("GPU-ADM-07", "Teams set no controller owner reference on their objects", owned)
TURNS = Requirement("GPU-ADM-08", "Pods of a team preempt no others and honour termination", turns)
SHARES = Requirement("GPU-SHR-05", "A container requests at most one share of a GPU", shares)
VOLUMES = Requirement("GPU-ADM-09", "Pods of a team mount only volumes of the cluster", volumes)

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
    "GPU-ADM-10", "Other objects of a team take nothing from other teams", belongings
)
"""Of what has no pods, and of claims that StatefulSets make."""


def refusals(workload: Workload, parameters: TeamParameters) -> Iterator[Refusal]:
    """Everything that a workload of a team is refused for."""
    for slip in crowded(workload):
        yield Refusal(TURNS.id, slip)
        return
    for requirement in REQUIREMENTS:
        for slip in requirement.slips(workload, parameters):
            yield Refusal(requirement.id, slip)
