"""Cluster fees: hourly prices of the EKS and GKE control planes."""

from dataclasses import dataclass
from datetime import date

from gpuyard_core.catalogue.software.support import WINDOWS
from gpuyard_core.catalogue.sources import Source

_LOOKED_UP = date(2026, 11, 22)
EKS_FEE = Source(
    "AWS Price List, AmazonEKS of 2026-09-28, as a public note of the next day quotes it: perCluster 0.10 and"
    " extendedSupport 0.50 more, the same in us-east-1 and ap-southeast-5",
    _LOOKED_UP,
    as_of=date(2026, 9, 28),
    second="AWS containers blog, EKS extended support pricing: 0.10, and 0.60 in all since 2024-04-01",
)
GKE_FEE = Source(
    "cloud.google.com/kubernetes-engine/pricing, a stored copy: 0.10 for every cluster; it mentions the"
    " fee of the extended period; its amount, 0.50 more, is from getreadystack's gke-extended-channel-fee-lint"
    " (2026-09-28). The free tier, for one zonal cluster of a billing account, is not deducted",
    _LOOKED_UP,
    verified=False,
    as_of=_LOOKED_UP,
)


@dataclass(frozen=True, slots=True)
class ClusterFee:
    """USD an hour for one cluster; the same in every region that was checked."""

    service: str
    standard: float
    extended: float
    """The additional fee while the cluster's Kubernetes is past its standard support."""
    source: Source


EKS = ClusterFee("EKS", 0.10, 0.50, EKS_FEE)
GKE = ClusterFee("GKE", 0.10, 0.50, GKE_FEE)


def has_standard_support_ended(cloud: str, minor: str) -> bool:
    """Whether standard support of a minor had ended when the fees were looked up.

    The lookup date is used instead of today, so that a plan stays the same tomorrow. A minor without a known
    end counts as supported.
    """
    window = WINDOWS.get(cloud, {}).get(minor)
    return window is not None and window.standard_end <= _LOOKED_UP
