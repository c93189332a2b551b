"""Actions and permissions that a cloud requires when its provider creates, reads, updates or deletes.

The table comes from another project (`facts/calls.json` names it, and what is left out of it and why), so
that a deployer's documented permissions can be compared with it.
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
"""Terraform's data sources of these names, as in its provider's source; a caller needs nothing else."""


def of(at: str, kind: str, inputs: Mapping[str, Any]) -> tuple[str, ...]:
    """The required actions; creating or changing also reads. Nothing for a kind that is in no table."""
    row = _table().get(kind, {})
    fields = row.get("with", {}) if at != "read" else {}
    also = [action for name in fields if name in inputs for action in fields[name]]
    return (*row.get(at, ()), *row.get("read", ()), *also)


@cache
def _table() -> dict[str, Any]:
    file = Path(__file__).parent / "facts" / "calls.json"
    kinds: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))["kinds"]
    return kinds
