"""Cluster fees: hourly prices of the EKS and GKE control planes."""

from dataclasses import dataclass
from datetime import date

from gpuyard_core.catalogue.software.support import WINDOWS
from gpuyard_core.catalogue.sources import Source, find_source

_LOOKED_UP = date(2026, 11, 22)
EKS_FEE = find_source("fees.eks-fee")
GKE_FEE = find_source("fees.gke-fee")


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
