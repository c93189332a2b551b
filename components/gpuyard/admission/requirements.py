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

QUEUED = Requirement("GPU-ADM-01", "What asks for GPUs in a team's namespace names a queue", queued)
BYPASS = Requirement(
    "GPU-POD-01",
    "A GPU is requested, never taken through the environment or the runtime class",
    bypasses,
)
PRIVILEGES = Requirement(
    "GPU-ADM-02", "Pods of a team have no privilege and nothing of the node's own", privileges
)
DEVICES = Requirement(
    "GPU-ADM-03", "Pods of a team mount nothing of the host that hands out devices", devices
)
PLACING = Requirement(
    "GPU-ADM-04", "Pods of a team stay off nodes that are kept for others", placing
)
SOURCES = Requirement("GPU-ADM-05", "Images of a team come from allowed registries", sources)
GUARANTEED = Requirement(
    "GPU-ADM-06", "Training pods request as much CPU and memory as they may use", guaranteed
)
OWNED = Requirement("GPU-ADM-07", "Nobody in a team names the controller of what it makes", owned)
TURNS = Requirement(
    "GPU-ADM-08", "Pods of a team push nobody aside and end when they are told", turns
)
SHARES = Requirement("GPU-SHR-05", "A container asks for one share of a GPU at most", shares)
VOLUMES = Requirement("GPU-ADM-09", "Pods of a team mount volumes of the cluster alone", volumes)

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
    "GPU-ADM-10", "What a team makes beside pods takes nothing of others", belongings
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
