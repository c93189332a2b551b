"""Which actions and permissions a cloud asks for when its provider makes, reads, changes or deletes.

The table is another's (`facts/calls.json` says whose, and what is left out of it and why), so that what
a deployer is said to need can be held against it.
"""

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

QUESTIONS: Mapping[str, tuple[str, ...]] = {
    "aws:ec2/getSubnets:getSubnets": ("ec2:DescribeSubnets",),
    "aws:ec2/getInstanceTypeOfferings:getInstanceTypeOfferings": (
        "ec2:DescribeInstanceTypeOfferings",
    ),
    "aws:ec2/getCapacityBlockReservation:getCapacityBlockReservation": (
        "ec2:DescribeCapacityReservations",
    ),
    "aws:ec2/getVpc:getVpc": (
        "ec2:DescribeVpcs",
        "ec2:DescribeVpcAttribute",
        "ec2:DescribeRouteTables",
    ),
    "aws:eks/getCluster:getCluster": ("eks:DescribeCluster",),
    "aws:eks/getNodeGroup:getNodeGroup": ("eks:DescribeNodegroup",),
    "aws:index/getAvailabilityZones:getAvailabilityZones": ("ec2:DescribeAvailabilityZones",),
    "aws:resourcegroupstaggingapi/getResources:getResources": ("tag:GetResources",),
    "aws:ssm/getParameter:getParameter": ("ssm:GetParameter",),
    "gcp:compute/getMachineTypes:getMachineTypes": ("compute.machineTypes.list",),
    "gcp:compute/getReservation:getReservation": ("compute.reservations.get",),
    "gcp:compute/getZones:getZones": ("compute.zones.list",),
    "gcp:container/getCluster:getCluster": ("container.clusters.get",),
    "gcp:organizations/getProject:getProject": ("resourcemanager.projects.get",),
}
"""Terraform's data sources of these names, as its provider's source has them; who asks needs nothing else."""


def of(at: str, kind: str, inputs: Mapping[str, Any]) -> tuple[str, ...]:
    """What is asked for; whoever makes or changes something reads it too. Nothing for a kind of no table."""
    row = _table().get(kind, {})
    fields = row.get("with", {}) if at != "read" else {}
    also = [action for name in fields if name in inputs for action in fields[name]]
    return (*row.get(at, ()), *row.get("read", ()), *also)


@cache
def _table() -> dict[str, Any]:
    file = Path(__file__).parent / "facts" / "calls.json"
    kinds: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))["kinds"]
    return kinds
