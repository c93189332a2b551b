"""The machines of a group or a pool, and the requirements on the launch template of a managed group."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from testbed.plugins.cloud import shapes
from testbed.plugins.cloud.rules.looking import at, has, items, number, text
from testbed.plugins.cloud.service import ties
from testbed.plugins.cloud.service.ties import Resource

GROUP, POOL = "aws:eks/nodeGroup:NodeGroup", "gcp:container/nodePool:NodePool"
CLUSTER = "gcp:container/cluster:Cluster"
_TAINT_FIELD, _TAINT_SINCE = "nodeConfig.taintConfig.architectureTaintBehavior", (1, 35)
_SNAPSHOT_GIB, _MOST_GIB = 20, 65_536
_ZONES_USED = 3  # of a region that has more


@dataclass(frozen=True)
class Wanted:
    """Machines by type and zone, and their number."""

    types: frozenset[str] = frozenset()
    zones: frozenset[str] = frozenset()
    count: int = 0


def of(kind: str, inputs: Mapping[str, Any], existing: Iterable[Resource]) -> Wanted:
    """The machines of a group or pool; none for other types."""
    if kind == GROUP:
        blocked = list(existing)
        template = template_of(inputs, blocked)
        zones = {
            text(each.inputs, "availabilityZone")
            for each in blocked
            if each.kind == "aws:ec2/subnet:Subnet" and each.id in items(inputs, "subnetIds")
        }
        types = {*items(inputs, "instanceTypes"), text(template, "instanceType")}
        return Wanted(
            frozenset(types) - {""},
            frozenset(zones) - {""},
            int(at(inputs, "scalingConfig.desiredSize") or 0),
        )
    if kind == POOL:
        places = items(inputs, "nodeLocations") or [text(inputs, "location")]
        count = at(inputs, "nodeCount") or at(inputs, "initialNodeCount") or 0
        return Wanted(
            frozenset({text(inputs, "nodeConfig.machineType")}), frozenset(places), int(count)
        )
    return Wanted()


def size_of(group: Resource, existing: Iterable[Resource]) -> int:
    """The current target size of a group or pool, in all its zones."""
    if group.kind == GROUP:
        return int(at(group.state, "scalingConfig.desiredSize") or 0)
    each = at(group.state, "nodeCount")
    each = at(group.state, "initialNodeCount") if each is None else each
    return int(each or 0) * len(zones_of(group, existing))


def sized(group: Resource, size: int, existing: Iterable[Resource]) -> dict[str, Any]:
    """The fields of a group or pool with another size. GKE's number is per zone, rounded up."""
    if group.kind == GROUP:
        return {"scalingConfig": {**group.state["scalingConfig"], "desiredSize": size}}
    return {"nodeCount": -(-size // len(zones_of(group, existing)))}


def smaller(pool: Resource, existing: Sequence[Resource]) -> Resource:
    """A GKE pool with one node less in each of its zones."""
    each = size_of(pool, existing) // len(zones_of(pool, existing)) - 1
    return Resource(
        pool.kind, pool.id, pool.inputs, {**pool.state, "nodeCount": each}, pool.imports
    )


def zones_of(pool: Resource, existing: Iterable[Resource]) -> list[str]:
    """The zones of a GKE pool's nodes: its own, its cluster's, or three of the region."""
    clusters = clusters_of(pool.inputs, existing)
    inputs = [pool.inputs, *(each.inputs for each in clusters)]
    for value in (items(each, "nodeLocations") for each in inputs):
        if value:
            return [str(each) for each in value]
    states = [pool.state, *(each.state for each in clusters)]
    place = next(filter(None, (text(each, "location") for each in states)), "")
    return [place] if place.count("-") > 1 else shapes.zones_of(place)[:_ZONES_USED]


def clusters_of(pool: Mapping[str, Any], existing: Iterable[Resource]) -> list[Resource]:
    """The GKE cluster of a pool with these inputs; none if it does not exist."""
    named = {str(pool.get("cluster", "")), shapes.last(pool.get("cluster"))} - {""}
    return [e for e in existing if e.kind == CLUSTER and {e.inputs.get("name"), e.id} & named][:1]


def template_of(inputs: Mapping[str, Any], existing: Iterable[Resource]) -> Mapping[str, Any]:
    """The launch template of a node group; empty where it has none."""
    for tie in ties.ties(GROUP, inputs):
        if tie.word == "template":
            result = next((each for each in existing if tie.means(each)), None)
            return result.inputs if result else {}
    return {}


def mismatches(kind: str, inputs: Mapping[str, Any], existing: Iterable[Resource]) -> list[str]:
    """Errors of EKS for a group with its launch template, by its guide; of GKE for pool and cluster."""
    if kind == POOL:
        return list(_too_old(inputs, existing))
    if kind != GROUP or not has(inputs, "launchTemplate"):
        return []
    blocked = list(existing)
    template = template_of(inputs, blocked)
    return [
        f"InvalidParameterException: {message}"
        for message in (
            *_refused_fields(template),
            *_said_twice(inputs, template),
            *_block(inputs, template),
            *_disks(inputs, template),
        )
    ]


def _too_old(inputs: Mapping[str, Any], existing: Iterable[Resource]) -> Iterable[str]:
    """[GKE release notes, 2026-07-28] taint_config for Arm needs a newer control plane."""
    if not text(inputs, _TAINT_FIELD):
        return
    name = text(inputs, "cluster").rpartition("/")[2]
    for each in existing:
        version = text(each.inputs, "minMasterVersion").split(".")[:2]
        numbers = tuple(int(part) for part in version if part.isdigit())
        if (
            each.kind == CLUSTER
            and text(each.inputs, "name") == name
            and () < numbers < _TAINT_SINCE
        ):
            yield (
                "Error 400: node_pool.config.taint_config is supported with control plane version"
                " 1.35.0-gke.2141000 or later., badRequest"
            )


def _refused_fields(template: Mapping[str, Any]) -> list[str]:
    results = [
        f"Launch template should not specify {name}."
        for name in (
            "iamInstanceProfile",
            "instanceInitiatedShutdownBehavior",
            "hibernationOptions",
        )
        if has(template, name)
    ]
    if any(has(each, "subnetId") for each in items(template, "networkInterfaces")):
        results.append("Launch template should not specify a subnet of a network interface.")
    return results


def _said_twice(inputs: Mapping[str, Any], template: Mapping[str, Any]) -> list[str]:
    results: list[str] = []
    if has(template, "instanceType") and has(inputs, "instanceTypes"):
        results.append("Launch template has an instance type and so has the node group; give one.")
    if has(template, "imageId"):
        results += [
            f"{name} cannot be given with a launch template that has an image."
            for name in ("amiType", "version", "releaseVersion")
            if has(inputs, name) and at(inputs, name) != "CUSTOM"
        ]
    return results


def _block(inputs: Mapping[str, Any], template: Mapping[str, Any]) -> list[str]:
    is_expected = text(inputs, "capacityType") == "CAPACITY_BLOCK"
    is_given = text(template, "instanceMarketOptions.marketType") == "capacity-block"
    if is_expected and not is_given:
        return [
            "CAPACITY_BLOCK needs a launch template with instanceMarketOptions.marketType capacity-block."
        ]
    if is_given and not is_expected:
        return [
            "A launch template with marketType capacity-block needs capacityType CAPACITY_BLOCK."
        ]
    return []


def _disks(inputs: Mapping[str, Any], template: Mapping[str, Any]) -> Iterable[str]:
    """awslabs/amazon-eks-ami: the snapshot of an AL2023 image has 20 GiB, the minimum of a disk created from it."""
    al2023 = text(inputs, "amiType").startswith("AL2023")
    for each in items(template, "blockDeviceMappings"):
        size, device = number(each, "ebs.volumeSize"), text(each, "deviceName")
        if size is not None and al2023 and device == "/dev/xvda" and size < _SNAPSHOT_GIB:
            yield f"Volume of size {size:g}GB is smaller than snapshot, expect size >= {_SNAPSHOT_GIB}GB"
        if size is not None and size > _MOST_GIB:
            yield f"Volume of {size:g}GiB is too large for volume type gp3; maximum is {_MOST_GIB}GiB"


def read_of_others(kind: str, state: dict[str, Any], existing: Iterable[Resource]) -> None:
    """Fill in values that a cloud reads from a resource's subnets."""
    path = {"aws:eks/cluster:Cluster": "vpcConfig.subnetIds", **_IN_ONE_SUBNET}.get(kind, "")
    names = ties.values(state, path.split(".")) if path else []
    subnet = next((each for each in existing if each.id in _flat(names)), None)
    if subnet is None:
        return
    if kind == "aws:eks/cluster:Cluster":
        state["vpcConfig"].setdefault("vpcId", subnet.state.get("vpcId"))
    else:
        read = {"vpcId": "vpcId", "availabilityZoneName": "availabilityZone"}
        for name, of_subnet in read.items():
            if subnet.state.get(of_subnet):
                state.setdefault(name, subnet.state[of_subnet])


_IN_ONE_SUBNET = {
    "aws:efs/mountTarget:MountTarget": "subnetId",
    "aws:fsx/lustreFileSystem:LustreFileSystem": "subnetIds",
}


def _flat(values: list[Any]) -> list[Any]:
    return [each for value in values for each in (value if isinstance(value, list) else [value])]
