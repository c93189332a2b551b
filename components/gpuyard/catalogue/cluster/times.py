"""How long a cloud takes for what it makes, as far as somebody has said or measured it.

Of what nobody has, nothing stands here: then nobody is told a time.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date

from gpuyard.catalogue.sources import Source


@dataclass(frozen=True, slots=True)
class Minutes:
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
        ),
    ),
}
"""Until a new cluster answers, by cloud; of GKE no measurement was found."""
GPU_NODES = Minutes(
    5,
    20,
    Source(
        "about 5 minutes until a new EC2 node runs a pod (Hacker News 44053826); up to 15 more until it says that its"
        " GPUs are allocatable (kubernetes/autoscaler, utils/gpu)",
        date(2026, 11, 25),
        verified=False,
    ),
)
"""Until the GPUs of a new node can be used, where the machines are to be had at once."""
