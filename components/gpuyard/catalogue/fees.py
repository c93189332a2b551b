"""Fees of managed clusters: what EKS and GKE ask for a control plane an hour, whatever runs in the cluster."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date

from gpuyard.catalogue.software.support import WINDOWS
from gpuyard.catalogue.sources import Source

_LOOKED_UP = date(2026, 11, 22)
EKS_FEE = Source(
    "AWS Price List, AmazonEKS of 2026-09-28, as a public note of the next day quotes it: perCluster 0.10 and"
    " extendedSupport 0.50 more, the same in us-east-1 and ap-southeast-5",
    _LOOKED_UP,
    as_of=date(2026, 9, 28),
    second="AWS containers blog, EKS extended support pricing: 0.10, and 0.60 in all since 2024-04-01",
)
GKE_FEE = Source(
    "cloud.google.com/kubernetes-engine/pricing, a stored copy: 0.10 for every cluster; of the 0.50 more in the"
    " extended period it says that there is a fee, and getreadystack's gke-extended-channel-fee-lint (2026-09-28)"
    " how much. The free tier, for one zonal cluster of a billing account, is not taken off",
    _LOOKED_UP,
    verified=False,
    as_of=_LOOKED_UP,
)


@dataclass(frozen=True, slots=True)
class ClusterFee:
    """US dollars an hour for one cluster; the same in every region that was looked at."""

    service: str
    standard: float
    extended: float
    """More, while the cluster's Kubernetes is past its standard support."""
    source: Source


CLUSTER_FEES: Mapping[str, ClusterFee] = {
    "aws": ClusterFee("EKS", 0.10, 0.50, EKS_FEE),
    "gcp": ClusterFee("GKE", 0.10, 0.50, GKE_FEE),
}
"""By cloud. Nobody asks anything for a cluster of your own."""


def standard_ended(cloud: str, minor: str) -> bool:
    """Whether standard support of a minor had ended when the fees were looked up.

    It is asked of that day, not of today's: a plan says the same tomorrow. Of a minor whose end nobody knows it
    is taken to go on.
    """
    window = WINDOWS.get(cloud, {}).get(minor)
    return window is not None and window.standard_end <= _LOOKED_UP
