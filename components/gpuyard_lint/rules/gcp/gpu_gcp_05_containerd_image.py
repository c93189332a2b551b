"""GPU-GCP-05: GPU nodes use an image that GKE's GPU support covers."""

from collections.abc import Iterator

from gpuyard_core.findings import Severity
from gpuyard_lint.rules.rule import AuditReference, Parameters, Resource, Rule, Violation, at, text
from gpuyard_lint.rules.subjects.pools import NODE_POOL, gpu_pool

_KNOWN = frozenset({"COS_CONTAINERD", "UBUNTU_CONTAINERD"})


def _check(resource: Resource, _: Parameters) -> Iterator[Violation]:
    image = text(at(resource.properties, "nodeConfig", "imageType")).upper()
    if gpu_pool(resource) is not None and image and image not in _KNOWN:
        yield Violation(
            ("nodeConfig", "imageType"),
            f"neither GKE nor the GPU Operator has a driver for {image}",
            "use COS_CONTAINERD, or UBUNTU_CONTAINERD with the GPU Operator's own driver",
        )


RULE = Rule(
    id="GPU-GCP-05",
    title="GKE GPU nodes use a containerd image with a driver",
    severity=Severity.ERROR,
    why="With another image the node joins but advertises no GPU.",
    fix="Use COS_CONTAINERD, or UBUNTU_CONTAINERD if the GPU Operator installs the driver.",
    sources=("NVIDIA GPU Operator documentation, google-gke.rst and platform-support.rst",),
    references=(AuditReference("CIS GKE 1.9.0", "5.5.1"),),
    kinds=(NODE_POOL,),
    check=_check,
)
