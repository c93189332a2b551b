"""Creation times of cloud resources, published or measured.

Without a published time there is no row, and gpuyard shows no time. The source of a row that is calculated
from others contains this.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date

from gpuyard_core.catalogue.software.images import ComponentOwner
from gpuyard_core.catalogue.sources import Source

_READ_ON = date(2026, 11, 26)


@dataclass(frozen=True, slots=True)
class Minutes:
    """A range of minutes."""

    least: int
    most: int
    source: Source


@dataclass(frozen=True, slots=True)
class Seconds:
    """A range of seconds."""

    least: int
    most: int
    source: Source


CONTROL_PLANES: Mapping[str, Minutes] = {
    "aws": Minutes(
        13,
        17,
        Source(
            "easontechtalk.com, unofficial EKS cluster creation performance: 793 to about 1,000 s in 21 regions",
            date(2026, 11, 25),
            verified=False,
            as_of=date(2026, 11, 25),
        ),
    ),
}
"""Time until a new cluster responds, by cloud; no measurement of GKE was found."""

# ── until a node is ready for jobs ────────────────────────────────────────────────────────────────
_EC2 = Source(
    "awslabs/amazon-eks-ami 1099: a c5.xlarge registers 39 s after the request; aws/karpenter-provider-aws 3102: ready"
    " after 70 to 100 s",
    _READ_ON,
    verified=False,
    as_of=_READ_ON,
)
_EC2_GPUS = Source(
    "aws/karpenter-provider-aws 6128: 70 to 80 s from launch until a machine without GPUs is registered, and amazon-eks-ami"
    " 1099: those with GPUs often take much longer. The maximum is calculated: pods run 4 to 6 minutes after the launch"
    " (kubernetes/autoscaler 3464), less the 90 s of NVIDIA/k8s-device-plugin 291",
    _READ_ON,
    verified=False,
    as_of=_READ_ON,
)
_GCE = Source(
    "no figure was found: assumed to be the same as EC2's",
    _READ_ON,
    verified=False,
    as_of=_READ_ON,
)
_GCE_GPUS = Source(
    "codalab/codalab-worksheets 4042: a VM with GPUs runs 4.5 minutes after the request to its autoscaler. The minimum"
    " is calculated: 3 minutes until pods run (blog.easecloud.io, GPU nodes on GKE: 3 to 8), less a minute for the GPUs",
    _READ_ON,
    verified=False,
    as_of=_READ_ON,
)
JOINS: Mapping[tuple[str, bool], Seconds] = {
    ("aws", False): Seconds(39, 100, _EC2),
    ("aws", True): Seconds(70, 270, _EC2_GPUS),
    ("gcp", False): Seconds(39, 100, _GCE),
    ("gcp", True): Seconds(120, 270, _GCE_GPUS),
}
"""Time from the request for a machine until its node is ready, by cloud and whether it has GPUs, if the cloud
has capacity."""
_INSTALLED = Source(
    "codalab/codalab-worksheets 4042: Google's DaemonSet had its driver in 4.5 minutes; kubernetes/autoscaler, utils/gpu: up"
    " to 15 minutes until GPUs are allocatable",
    _READ_ON,
    verified=False,
    as_of=_READ_ON,
)
COUNTED: Mapping[ComponentOwner, Seconds] = {
    ComponentOwner.IMAGE: Seconds(
        15,
        90,
        Source(
            "NVIDIA/k8s-device-plugin 291: it starts about 90 s after a node of Karpenter; the minimum is calculated from"
            " images of this size (awslabs/amazon-eks-ami 938: about 4 s each)",
            _READ_ON,
            verified=False,
            as_of=_READ_ON,
        ),
    ),
    ComponentOwner.GKE: Seconds(
        60,
        270,
        Source(
            "cloudpilot-ai/karpenter-provider-gcp 148: about a minute; codalab/codalab-worksheets 4042: 4.5",
            _READ_ON,
            verified=False,
            as_of=_READ_ON,
        ),
    ),
    ComponentOwner.DAEMONSET: Seconds(270, 900, _INSTALLED),
    ComponentOwner.OPERATOR: Seconds(270, 900, _INSTALLED),
}
"""Time from a ready node until it advertises its GPUs, by what installs the driver."""
EACH_GPU = Seconds(
    3,
    4,
    Source(
        "tinfoilsh/cvmimage 363: nvidia-persistenced attaches GPUs one after the other, 3.1 to 4.3 s for each of eight B200",
        _READ_ON,
        verified=False,
        as_of=_READ_ON,
    ),
)
"""Additional time for each GPU."""
GB_PULLED = Seconds(
    16,
    18,
    Source(
        "AWS machine learning blog of 2026-06 on SOCI: 15 to 20 GB take 4 to 6 minutes for one instance by a plain pull."
        " For Google no source has both time and size (Artifact Registry: 3 min 50 s for a deep learning image)",
        _READ_ON,
        verified=False,
        as_of=date(2026, 6, 3),
    ),
)
"""Time for each GB of an image that is not on the node yet, without image streaming."""


def startup_durations(cloud: str, gpus: int, driver: ComponentOwner | None) -> tuple[Seconds, ...]:
    """Startup phases of a node in order; empty if durations are unknown.

    `driver` is what installs the driver; None for machines without GPUs.
    """
    joins = JOINS.get((cloud, gpus > 0))
    if joins is None:
        return ()
    if driver is None:
        return (joins,)
    counted = COUNTED.get(driver)
    if counted is None:
        return ()
    most = counted.most + gpus * EACH_GPU.most
    each = Seconds(counted.least + gpus * EACH_GPU.least, most, counted.source)
    return (joins, each)
