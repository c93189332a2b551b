"""One share for a container: the device plugin refuses more."""

from collections.abc import Collection, Iterator

from gpuyard.admission.bypass import asks
from gpuyard.admission.parameters import TeamParameters
from gpuyard.admission.requirement import Sentence, Slip, Workload
from gpuyard.manifests.fields import mapping
from gpuyard.manifests.gpu_requests import several_shares
from gpuyard.manifests.pods import Pod, called

SEVERAL = Sentence(
    "container {container} asks for more than one {resource}, which the device plugin refuses:"
    " shares of a GPU are turns on it, not more of it",
    "ask for one, or for a slice or a whole GPU",
)


def shares(workload: Workload, parameters: TeamParameters) -> Iterator[Slip]:
    """Containers that ask for several shares."""
    for pod in filter(asks, workload.pods):
        yield from shares_of(pod, parameters.shares)


def shares_of(pod: Pod, shared: Collection[str] = ()) -> Iterator[Slip]:
    """The same of one pod; `shared` are names of shares that do not say so."""
    for path, container in pod.containers():
        if "ephemeralContainers" in path:  # they may not ask for resources
            continue
        limits = mapping(container.get("resources"), "limits")
        for resource in several_shares(limits, shared):
            where = (*path, "resources", "limits", resource)
            yield SEVERAL.slip(where, container=called(path, container), resource=resource)
