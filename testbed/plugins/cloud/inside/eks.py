"""Nodes of an EKS node group, from the group, its launch template and the account's other resources."""

import ipaddress
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from gpuyard_core.catalogue.fabric import pod_limit
from gpuyard_core.catalogue.machines import Machine, find_machine
from gpuyard_core.catalogue.software.images import IMAGES
from testbed.plugins.cloud.inside import boarding, user_data
from testbed.plugins.cloud.inside.node import (
    EFFECTS,
    Kept,
    Node,
    digest,
    efa_pages,
    gib,
    local_bytes,
    numbers,
    resources,
    topology,
    usual,
)
from testbed.plugins.cloud.inside.user_data import BadUserData, Told
from testbed.plugins.cloud.rules.looking import at, items, text
from testbed.plugins.cloud.service.machines import template_of
from testbed.plugins.cloud.service.ties import Resource

GROUP = "aws:eks/nodeGroup:NodeGroup"
_CLUSTER = "aws:eks/cluster:Cluster"
_DATA_DISK = {"BOTTLEROCKET": "/dev/xvdb", "CUSTOM": "/dev/sda1"}
_DEFAULT_DISK_GIB = 20
_FEW, _MANY, _CPUS = 110, 250, 30  # pods that EKS caps at, by a machine's CPUs


@dataclass(frozen=True)
class Boot:
    """How instances of a group start."""

    machine: Machine
    family: str
    ami: str
    """EKS's name of the image."""
    told: Told
    template: Mapping[str, Any]


def boot(group: Resource, existing: Iterable[Resource], images: Mapping[str, str]) -> Boot:
    """How the group's instances start; BadUserData if they start no kubelet."""
    blocked = list(existing)
    template = template_of(group.inputs, blocked)
    types = items(group.inputs, "instanceTypes") or [text(template, "instanceType") or "t3.medium"]
    machine = find_machine(types[0])
    if machine is None:
        raise BadUserData(f"the fake does not know the instance type {types[0]}")
    ami = text(group.inputs, "amiType") or "AL2023_x86_64_STANDARD"
    if image := text(template, "imageId"):
        if image not in images:
            raise BadUserData(
                f"InvalidAMIID.NotFound: The image id '[{image}]' does not exist",
                "Ec2LaunchTemplateInvalidConfiguration",
            )
        ami = "CUSTOM"
    family = ami.partition("_")[0]
    reported = user_data.told(text(template, "userData"), family)
    return Boot(machine, family, ami, reported, template)


def nodes(group: Resource, existing: Iterable[Resource], images: Mapping[str, str]) -> list[Node]:
    """The nodes that this group has now; BadUserData has the reason why none joins."""
    count = int(at(group.state, "scalingConfig.desiredSize") or 0)
    if not count:
        return []
    blocked = list(existing)
    how = boot(group, blocked, images)
    cluster = next(
        each for each in blocked if each.kind == _CLUSTER and each.id == group.inputs["clusterName"]
    )
    boarding.must_join(group, cluster, how.told, how.template, blocked)
    places = _places(group, blocked)
    results: list[Node] = []
    for number in numbers(count, group.state):
        subnet = places[number % len(places)]
        results.append(_node(group, how, subnet, number, number // len(places)))
    return results


def _places(group: Resource, existing: list[Resource]) -> list[Resource]:
    """The subnets in which nodes start, one after the other."""
    return [
        each
        for id_ in items(group.inputs, "subnetIds")
        for each in existing
        if each.kind == "aws:ec2/subnet:Subnet" and each.id == id_
    ]


def _node(group: Resource, how: Boot, subnet: Resource, number: int, nth: int) -> Node:
    zone = text(subnet.state, "availabilityZone")
    seed = digest(group.id, at(group.state, "launchTemplate.version"), number)
    name = _address(subnet, seed, zone)
    interfaces = items(how.template, "networkInterfaces")
    efa = sum(each.get("interfaceType") in {"efa", "efa-only"} for each in interfaces)
    capacity, allocatable = resources(how.machine, _disk(how), _kept(how, efa))
    return Node(
        name=name,
        group=group.id,
        provider_id=f"aws:///{zone}/i-{seed[:17]}",
        labels=_labels(group, how, zone, name, nth),
        taints=_taints(group, how.told),
        capacity=capacity,
        allocatable=allocatable,
        efa=min(efa, how.machine.efa_interfaces),
        driver="NVIDIA" in how.ami,
        driver_version=_driver(how.ami),
        devices=_devices(how),
        gpus=how.machine.gpus,
    )


def _driver(ami: str) -> str:
    """The driver of an image of this kind, from its table."""
    results = (i.driver for i in IMAGES.values() if i.cloud == "aws" and ami in i.variants.values())
    return next(results, None) or ""


def _address(subnet: Resource, seed: str, zone: str) -> str:
    """The private name of an instance, from its subnet's addresses."""
    block = ipaddress.IPv4Network(subnet.inputs["cidrBlock"])
    usable = block.num_addresses - 5  # the first four and the last are AWS's own
    address = block[4 + int(seed[:12], 16) % max(usable, 1)]
    region = zone[:-1]
    domain = "ec2.internal" if region == "us-east-1" else f"{region}.compute.internal"
    return f"ip-{str(address).replace('.', '-')}.{domain}"


# ── values of the kubelet ─────────────────────────────────────────────────────────────────────────
def _kept(how: Boot, efa: int) -> Kept:
    few = _FEW if how.machine.vcpus < _CPUS else _MANY
    pods = how.told.max_pods or pod_limit(how.machine) or few
    return Kept(
        reserved=_added(how.told.reserved or usual(how.machine), how.told.system_reserved),
        eviction=how.told.eviction,
        pods=pods,
        huge_pages_mib=efa_pages(how.machine, efa),
    )


def _added(kube: Mapping[str, str], system: Mapping[str, str]) -> dict[str, str]:
    """Both reserves; a resource in both is rejected, because the larger is not enough."""
    if both := sorted(set(kube) & set(system)):
        raise BadUserData(f"this fake cannot add two reserves of {', '.join(both)}")
    return {**kube, **system}


def _disk(how: Boot) -> int:
    if how.told.raid:
        return local_bytes(how.machine)
    device = _DATA_DISK.get(how.family, "/dev/xvda")
    for each in items(how.template, "blockDeviceMappings"):
        if each.get("deviceName") == device:
            return gib(at(each, "ebs.volumeSize") or _DEFAULT_DISK_GIB)
    return gib(_DEFAULT_DISK_GIB)


def _devices(how: Boot) -> dict[str, int] | None:
    """Bottlerocket's NVIDIA variants include a device plugin, and share GPUs by its settings."""
    machine = how.machine
    if how.family != "BOTTLEROCKET" or "NVIDIA" not in how.ami or not machine.gpus:
        return None
    strategy = how.told.devices.get("device-sharing-strategy", "none")
    shares = how.told.devices.get(strategy) or {}
    replicas = int(shares.get("replicas", 1))
    renamed = ".shared" if replicas > 1 and shares.get("rename-by-default") else ""
    return {f"nvidia.com/gpu{renamed}": machine.gpus * replicas}


# ── labels and taints ─────────────────────────────────────────────────────────────────────────────
def _labels(group: Resource, how: Boot, zone: str, name: str, nth: int) -> dict[str, str]:
    region = zone[:-1]
    together = str(at(how.template, "placement.groupName") or "")
    template = at(group.state, "launchTemplate") or {}
    cloud = {
        "beta.kubernetes.io/arch": how.machine.arch,
        "beta.kubernetes.io/instance-type": how.machine.type_name,
        "beta.kubernetes.io/os": "linux",
        "eks.amazonaws.com/capacityType": text(group.state, "capacityType"),
        "eks.amazonaws.com/nodegroup": text(group.inputs, "nodeGroupName"),
        **(
            {
                "eks.amazonaws.com/sourceLaunchTemplateId": str(template["id"]),
                "eks.amazonaws.com/sourceLaunchTemplateVersion": str(template.get("version")),
            }
            if template.get("id")
            else {}
        ),
        "failure-domain.beta.kubernetes.io/region": region,
        "failure-domain.beta.kubernetes.io/zone": zone,
        "kubernetes.io/arch": how.machine.arch,
        "kubernetes.io/hostname": name,
        "kubernetes.io/os": "linux",
        "node.kubernetes.io/instance-type": how.machine.type_name,
        "topology.kubernetes.io/region": region,
        "topology.kubernetes.io/zone": zone,
    }
    # EKS passes the group's labels to the kubelet, except for custom images.
    own = {} if how.ami == "CUSTOM" else dict(group.inputs.get("labels") or {})
    suggestion = topology(how.machine, zone, nth, together=together, name=name)
    return {**cloud, **suggestion, **how.told.labels, **own}


def _taints(group: Resource, reported: Told) -> tuple[Mapping[str, str], ...]:
    """The group's taints in Kubernetes spelling, after the kubelet's."""
    own = tuple(
        {"key": each["key"], "value": each.get("value", ""), "effect": EFFECTS[each["effect"]]}
        for each in items(group.inputs, "taints")
    )
    return (*reported.taints, *(each for each in own if each not in reported.taints))
