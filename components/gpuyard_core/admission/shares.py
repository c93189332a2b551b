"""At most one share per container: the device plugin rejects more."""

from collections.abc import Collection, Iterator

from gpuyard_core.admission.bypass import requests_gpus
from gpuyard_core.admission.parameters import TeamParameters
from gpuyard_core.admission.requirement import ViolationTemplate, Workload
from gpuyard_core.manifests.fields import mapping
from gpuyard_core.manifests.gpu_requests import multiple_share_requests
from gpuyard_core.manifests.pods import Pod, container_name
from gpuyard_core.manifests.resources import Violation

SEVERAL = ViolationTemplate(
    "container {container} requests more than one {resource}; the device plugin rejects it, "
    "because several shares of a GPU give no more of it",
    "request one, or a MIG slice or a whole GPU",
)


def check_shares(workload: Workload, parameters: TeamParameters) -> Iterator[Violation]:
    """Containers that request several shares."""
    for pod in filter(requests_gpus, workload.pods):
        yield from check_pod_shares(pod, parameters.shares)


def check_pod_shares(pod: Pod, shared: Collection[str] = ()) -> Iterator[Violation]:
    """The same for one pod; `shared` are resource names of shares without the suffix `.shared`."""
    for path, container in pod.containers():
        if "ephemeralContainers" in path:  # ephemeral containers cannot request resources
            continue
        limits = mapping(container.get("resources"), "limits")
        for resource in multiple_share_requests(limits, shared):
            where = (*path, "resources", "limits", resource)
            yield SEVERAL.fill_in(
                where, container=container_name(path, container), resource=resource
            )
