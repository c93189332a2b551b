"""How long a cloud takes for what it makes, as far as somebody has said or measured it.

Of what nobody has, nothing stands here: then nobody is told a time. A row that is reckoned from others says so.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date

from gpuyard.catalogue.software.images import ComponentOwner
from gpuyard.catalogue.sources import Source

_READ_ON = date(2026, 11, 26)


@dataclass(frozen=True, slots=True)
class Minutes:
    """From, to."""

    least: int
    most: int
    source: Source


@dataclass(frozen=True, slots=True)
class Seconds:
    """From, to."""

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
"""Until a new cluster answers, by cloud; of GKE no measurement was found."""

# ── until a node is of use ────────────────────────────────────────────────────────────────────────
_EC2 = Source(
    "awslabs/amazon-eks-ami 1099: a c5.xlarge registers 39 s after it is asked for; aws/karpenter-provider-aws 3102: ready"
    " after 70 to 100 s",
    _READ_ON,
    verified=False,
    as_of=_READ_ON,
)
_EC2_GPUS = Source(
    "aws/karpenter-provider-aws 6128: 70 to 80 s from launch until a machine without GPUs is registered, and amazon-eks-ami"
    " 1099: those with GPUs often take much longer. The most is reckoned: pods run 4 to 6 minutes after the launch"
    " (kubernetes/autoscaler 3464), less the 90 s of NVIDIA/k8s-device-plugin 291",
    _READ_ON,
    verified=False,
    as_of=_READ_ON,
)
_GCE = Source(
    "no figure was found: taken as EC2's",
    _READ_ON,
    verified=False,
    as_of=_READ_ON,
)
_GCE_GPUS = Source(
    "codalab/codalab-worksheets 4042: a VM with GPUs is there 4.5 minutes after its autoscaler was asked. The least is"
    " reckoned: 3 minutes until pods run (blog.easecloud.io, GPU nodes on GKE: 3 to 8), less a minute for the GPUs",
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
"""From the moment a machine is asked for until its node is ready, by cloud and whether it has GPUs; where there
are machines."""
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
            "NVIDIA/k8s-device-plugin 291: it starts about 90 s after a node of Karpenter; the least is reckoned from what"
            " images of this size take (awslabs/amazon-eks-ami 938: about 4 s each)",
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
"""From a ready node until its GPUs are counted, by who brings the driver."""
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
"""More of them take longer."""
GB_PULLED = Seconds(
    16,
    18,
    Source(
        "AWS machine learning blog of 2026-06 on SOCI: 15 to 20 GB take 4 to 6 minutes for one instance by a plain pull."
        " Of Google nobody says a time and a size (Artifact Registry: 3 min 50 s for a deep learning image)",
        _READ_ON,
        verified=False,
        as_of=date(2026, 6, 3),
    ),
)
"""For each GB of an image that a node does not have yet, pulled as a whole and not streamed."""


def startup_durations(cloud: str, gpus: int, driver: ComponentOwner | None) -> tuple[Seconds, ...]:
    """What a node waits for, one after the other; empty where nobody has said how long.

    `driver` is who brings it; None for machines without GPUs.
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
