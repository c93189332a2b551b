"""GPU-GCP-05: GPU nodes run the image that GKE's GPU support is made for."""

from collections.abc import Iterator

from gpuyard.findings import Severity
from gpuyard.rules.rule import Parameters, Reference, Resource, Rule, Violation, at, text
from gpuyard.rules.subjects.pools import NODE_POOL, gpu_pool

_KNOWN = frozenset({"COS_CONTAINERD", "UBUNTU_CONTAINERD"})


def _check(resource: Resource, _: Parameters) -> Iterator[Violation]:
    image = text(at(resource.properties, "nodeConfig", "imageType")).upper()
    if gpu_pool(resource) is not None and image and image not in _KNOWN:
        yield Violation(
            ("nodeConfig", "imageType"),
            f"{image} is no image that GKE or the GPU Operator has a driver for",
            "use COS_CONTAINERD, or UBUNTU_CONTAINERD with the GPU Operator's own driver",
        )


RULE = Rule(
    id="GPU-GCP-05",
    title="GKE GPU nodes use a containerd image with a driver",
    severity=Severity.ERROR,
    why="On another image the node joins and offers no GPU.",
    fix="Use COS_CONTAINERD; UBUNTU_CONTAINERD where the GPU Operator installs the driver.",
    sources=("NVIDIA GPU Operator documentation, google-gke.rst and platform-support.rst",),
    references=(Reference("CIS GKE 1.9.0", "5.5.1"),),
    kinds=(NODE_POOL,),
    check=_check,
)
