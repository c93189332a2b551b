"""Cloud quotas of nodes: vCPUs by machine family on EC2, GPUs by model on Google Cloud."""

import re
from collections.abc import Mapping
from dataclasses import dataclass


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
)  # quotas.ec2-quota  # quotas.ec2-standard


def ec2_quota(machine: str) -> Ec2Quota | None:
    """The quotas that a machine type uses; None if unknown."""
    return next((each for each in EC2_QUOTAS if re.match(each.families, machine)), None)


EC2_NETWORKS, EC2_ADDRESSES = "L-F678F1CE", "L-0263D0A3"
"""The quotas of VPCs (service vpc) and of elastic IP addresses (service ec2); the default of each is five
(quotas.ec2-networks)."""

GCE_ALL_GPUS = "GPUS_ALL_REGIONS"
"""The project quota of all GPUs of all models and regions, in addition to the others; the default is 0
(quotas.gce-quota)."""
GCE_MADE: Mapping[str, str] = {
    "gcp:compute/network:Network": "NETWORKS",
    "gcp:compute/subnetwork:Subnetwork": "SUBNETWORKS",
    "gcp:compute/firewall:Firewall": "FIREWALLS",
    "gcp:compute/router:Router": "ROUTERS",
}
"""Project quotas by created resource (quotas.gce-project)."""
PREEMPTIBLE = "PREEMPTIBLE_"
