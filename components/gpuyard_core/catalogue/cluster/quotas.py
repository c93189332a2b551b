"""Cloud quotas of nodes: vCPUs by machine family on EC2, GPUs by model on Google Cloud."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date

from gpuyard_core.catalogue.sources import Source

EC2_QUOTA_SOURCE = Source(
    "skypilot-catalog v5 aws/instance_quota_mapping.csv (codes of G, P and DL), EC2 user guide, spot quotas (P5 has one"
    " of its own, and in newer accounts all P share one)",
    date(2026, 11, 23),
    as_of=date(2026, 11, 23),
)
EC2_STANDARD_SOURCE = Source(
    "codes of the standard families (cortexlabs/cortex issue 1878 for spot) and of P5 spot from general knowledge",
    date(2026, 11, 23),
    verified=False,
    as_of=date(2026, 11, 23),
)
GCE_QUOTA_SOURCE = Source(
    "Quota.Metric of Compute Engine's API; names of H100 Mega, H200, B200 and GB200 from quota errors of other users. Spot and"
    " flex-start use the preemptible quota",
    date(2026, 11, 23),
    verified=False,
    as_of=date(2026, 11, 23),
)


@dataclass(frozen=True, slots=True)
class Ec2Quota:
    """The quotas of one group of families, by code; the first one that exists in an account applies."""

    families: str
    """A pattern for the prefix of machine types."""
    on_demand: str
    spot: tuple[str, ...]


_P_SPOT, _P5_SPOT = "L-7212CCBC", "L-C4BD4855"
EC2_QUOTAS = (
    Ec2Quota(r"p[56]", "L-417A185B", (_P5_SPOT, _P_SPOT)),
    Ec2Quota(r"p\d", "L-417A185B", (_P_SPOT,)),
    Ec2Quota(r"(g|gr|vt)\d", "L-DB2E81BA", ("L-3819A6DF",)),
    Ec2Quota(r"[acdhimrtz]\d|(im|is)\d", "L-1216C47A", ("L-34B43A08",)),
)


def ec2_quota(machine: str) -> Ec2Quota | None:
    """The quotas that a machine type uses; None if unknown."""
    return next((each for each in EC2_QUOTAS if re.match(each.families, machine)), None)


EC2_NETWORKS, EC2_ADDRESSES = "L-F678F1CE", "L-0263D0A3"
"""The quotas of VPCs (service vpc) and of elastic IP addresses (service ec2); the default of each is five."""
EC2_NETWORKS_SOURCE = Source(
    "VPC user guide, quotas: five of either in a region; codes from installers of OpenShift and others",
    date(2026, 11, 26),
    as_of=date(2026, 11, 26),
)

GCE_ALL_GPUS = "GPUS_ALL_REGIONS"
"""The project quota of all GPUs of all models and regions, in addition to the others; the default is 0."""
GCE_MADE: Mapping[str, str] = {
    "gcp:compute/network:Network": "NETWORKS",
    "gcp:compute/subnetwork:Subnetwork": "SUBNETWORKS",
    "gcp:compute/firewall:Firewall": "FIREWALLS",
    "gcp:compute/router:Router": "ROUTERS",
}
"""Project quotas by created resource."""
GCE_PROJECT_SOURCE = Source(
    "Compute Engine API, projects.get: quotas and Quota.Metric; that GPUS_ALL_REGIONS also covers newer models,"
    " from quota errors of other users",
    date(2026, 11, 26),
    verified=False,
    as_of=date(2026, 11, 26),
)

GCE_METRICS: Mapping[str, str] = {
    "nvidia-a100-80gb": "NVIDIA_A100_80GB_GPUS",
    "nvidia-b200": "NVIDIA_B200_GPUS",
    "nvidia-gb200": "NVIDIA_GB200_GPUS",
    "nvidia-h100-80gb": "NVIDIA_H100_GPUS",
    "nvidia-h100-mega-80gb": "NVIDIA_H100_MEGA_GPUS",
    "nvidia-h200-141gb": "NVIDIA_H200_GPUS",
    "nvidia-l4": "NVIDIA_L4_GPUS",
    "nvidia-tesla-a100": "NVIDIA_A100_GPUS",
    "nvidia-tesla-p100": "NVIDIA_P100_GPUS",
    "nvidia-tesla-p4": "NVIDIA_P4_GPUS",
    "nvidia-tesla-t4": "NVIDIA_T4_GPUS",
    "nvidia-tesla-v100": "NVIDIA_V100_GPUS",
}
"""Quotas by GKE's name of a GPU."""
PREEMPTIBLE = "PREEMPTIBLE_"
