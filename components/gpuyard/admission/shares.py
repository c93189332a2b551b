"""One share for a container: the device plugin refuses more."""

from collections.abc import Collection, Iterator

from gpuyard.admission.bypass import requests_gpus
from gpuyard.admission.parameters import TeamParameters
from gpuyard.admission.requirement import Violation, ViolationTemplate, Workload
from gpuyard.manifests.fields import mapping
from gpuyard.manifests.gpu_requests import requests_several_shares
from gpuyard.manifests.pods import Pod, container_name

SEVERAL = ViolationTemplate(
    "container {container} asks for more than one {resource}, which the device plugin refuses:"
    " shares of a GPU are turns on it, not more of it",
    "ask for one, or for a slice or a whole GPU",
)


def check_shares(workload: Workload, parameters: TeamParameters) -> Iterator[Violation]:
    """Containers that ask for several shares."""
    for pod in filter(requests_gpus, workload.pods):
        yield from check_pod_shares(pod, parameters.shares)


def check_pod_shares(pod: Pod, shared: Collection[str] = ()) -> Iterator[Violation]:
    """The same of one pod; `shared` are names of shares that do not say so."""
    for path, container in pod.containers():
        if "ephemeralContainers" in path:  # they may not ask for resources
            continue
        limits = mapping(container.get("resources"), "limits")
        for resource in requests_several_shares(limits, shared):
            where = (*path, "resources", "limits", resource)
            yield SEVERAL.violation(
                where, container=container_name(path, container), resource=resource
            )
