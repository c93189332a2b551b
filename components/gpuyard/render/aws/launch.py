"""Launch templates: interfaces, disks, metadata options and user data of a node group's nodes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gpuyard.plan.records import CapacityOption, PoolPlan
from gpuyard.render.aws.place import EksNodeInputs, StringInput
from gpuyard.render.cloud.graph import BLOCK, Base64, CloudResource
from gpuyard_core.catalogue.fabric import Interface, efa_interfaces_to_launch
from gpuyard_core.catalogue.kubernetes.eks_nodes import DATA_DISKS, SYSTEM_DISKS
from gpuyard_core.catalogue.machines import Capacity, Machine
from gpuyard_core.catalogue.node_pools import Ec2CapacitySettings
from gpuyard_core.names import OFFERING_TAG, PLATFORM_LABEL

_CLUSTER = "cluster"


def placement_group(
    pool: PoolPlan, tags: Mapping[str, str], part: str | None = None
) -> CloudResource | None:
    """One for all groups of a pool that need close nodes: a job may run on two of the groups.

    Its `part` is the pool, unless another is given.
    """
    if not any(uses_placement_group(option) for option in pool.capacity_options):
        return None
    return CloudResource(
        kind="aws:ec2/placementGroup:PlacementGroup",
        name=placement_name(pool),
        inputs={"strategy": _CLUSTER, "tags": dict(tags)},
        part=pool.stable_name if part is None else part,
    )


def uses_placement_group(option: CapacityOption) -> bool:
    """Whether nodes of this capacity option are in the pool's placement group."""
    return option.placement == _CLUSTER


def placement_name(pool: PoolPlan) -> str:
    """The name of a pool's placement group in the graph."""
    return f"{pool.stable_name}-placement"


def ec2_purchase(pool: PoolPlan, option: CapacityOption) -> Ec2CapacitySettings:
    """The EC2 settings of a capacity option."""
    if option.aws is None:
        raise ValueError(f"{pool.name} has no capacity option on AWS")
    return option.aws


def block_purchase(
    pool: PoolPlan,
    option: CapacityOption,
    tags: Mapping[str, str],
    after: tuple[str, ...],
    part: str | None = None,
) -> CloudResource | None:
    """The block of a capacity option: named for its offer, so that another offer is another block.

    AWS takes no block back, and its provider drops it from the state without a call: it stays until
    it ends.
    """
    if option.purchase is None or option.reservation is None:
        return None
    return CloudResource(
        kind=BLOCK,
        name=f"{pool.stable_name}-{option.reservation}",
        inputs={
            "capacityBlockOfferingId": option.reservation,
            "instancePlatform": "Linux/UNIX",
            "tags": {**tags, OFFERING_TAG: option.reservation},
        },
        part=pool.stable_name if part is None else part,
        after=after,  # the block is bought only once everything exists that its nodes need
        retain=True,
    )


def purchase_options(
    pool: PoolPlan,
    option: CapacityOption,
    group: CloudResource | None,
    block: CloudResource | None = None,
) -> dict[str, Any]:
    """The launch template settings of one capacity option.

    Spot is a field of the node group, not of its template. A reservation has its own placement: in
    gpuyard's placement group its machines would stay empty.
    """
    words = ec2_purchase(pool, option)
    reservation: dict[str, Any] = {"capacityReservationPreference": words.reservation_preference}
    if option.reservation:
        reservation_id = option.reservation if block is None else block.get("id")
        reservation["capacityReservationTarget"] = {"capacityReservationId": reservation_id}
    fields: dict[str, Any] = {"capacityReservationSpecification": reservation}
    if option.mode == Capacity.BLOCK.value:
        fields["instanceType"] = pool.machine.type_name
        fields["instanceMarketOptions"] = {"marketType": words.market_type}
    if group is not None and uses_placement_group(option):
        fields["placement"] = {"groupName": group.get("id")}
    return fields


DISK_GIB = 200
"""Default of the stack file: images of GPU frameworks are large."""
_IMAGES_MIB_S = 500
"""Of the disk for container images: gp3 offers it at its baseline of 3,000 operations a second."""
_YES = "true"
"""The provider has some booleans as text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeBootSettings:
    """Boot settings of the nodes of a group."""

    machines: tuple[Machine, ...]
    variant: str
    """The name of the image at EKS; CUSTOM if `image` is its id."""
    disk_gib: int = DISK_GIB
    user_data: Base64 | None = None
    image: StringInput | None = None


def launch_template(
    name: str,
    part: str,
    boot: NodeBootSettings,
    bought: Mapping[str, Any],
    foundation: EksNodeInputs,
    tags: Mapping[str, str],
) -> CloudResource:
    """The template of one group; a new version rolls its nodes, no change replaces the group."""
    inputs: dict[str, Any] = {
        "updateDefaultVersion": True,
        "metadataOptions": {
            "httpEndpoint": "enabled",
            "httpTokens": "required",
            "httpPutResponseHopLimit": 1,
        },
        "monitoring": {"enabled": True},
        "blockDeviceMappings": _disks(boot, foundation),
        **_network(boot.machines, foundation),
        **bought,
        "tagSpecifications": [
            {"resourceType": kind, "tags": {"Name": f"{tags[PLATFORM_LABEL]}-{name}", **tags}}
            for kind in ("instance", "volume", "network-interface")
        ],
        "tags": dict(tags),
    }
    if boot.image is not None:
        inputs["imageId"] = boot.image
    if boot.user_data is not None:
        inputs["userData"] = boot.user_data
    return CloudResource(
        kind="aws:ec2/launchTemplate:LaunchTemplate",
        name=f"{name}-template",
        inputs=inputs,
        part=part,
        outputs=("latestVersion",),
        ignores=("imageId",) if boot.image is not None else (),
    )


# ── interfaces ────────────────────────────────────────────────────────────────────────────────────
def fabric_interfaces(machines: Sequence[Machine]) -> list[Interface]:
    """The interfaces that all these machines support; none unless they include the primary one."""
    first, *others = machines
    shared = [
        one
        for one in efa_interfaces_to_launch(first)
        if all(one in efa_interfaces_to_launch(m) for m in others)
    ]
    return shared if shared and shared[0].card == 0 else []


def _network(machines: Sequence[Machine], foundation: EksNodeInputs) -> dict[str, Any]:
    """Explicit interfaces contain the security groups: EC2 then rejects them at the top level."""
    groups = list(foundation.security_groups)
    result = fabric_interfaces(machines)
    if not result:
        return {"vpcSecurityGroupIds": groups}
    return {
        "networkInterfaces": [
            {
                "networkCardIndex": one.card,
                "deviceIndex": one.device,
                "interfaceType": one.kind,
                "deleteOnTermination": _YES,
                "securityGroups": groups,
            }
            for one in result
        ]
    }


# ── disks ─────────────────────────────────────────────────────────────────────────────────────────
def _disks(boot: NodeBootSettings, foundation: EksNodeInputs) -> list[dict[str, Any]]:
    family = boot.variant.partition("_")[0]
    system = SYSTEM_DISKS.get(family)
    disks = [_disk(system, foundation)] if system else []
    size = disk_needs(boot.machines, boot.disk_gib)
    return [*disks, _disk(DATA_DISKS[family], foundation, size)]


def disk_needs(machines: Sequence[Machine], gib: int) -> dict[str, int]:
    """The minimum size and speed of the disk for container images."""
    size = {"volumeSize": gib}
    if any(machine.is_gpu_machine and not machine.nvme_gb for machine in machines):
        size["throughput"] = _IMAGES_MIB_S  # no local disks that could hold container images
    return size


def _disk(
    device: str, foundation: EksNodeInputs, size: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    key = {} if foundation.disk_key is None else {"kmsKeyId": foundation.disk_key}
    ebs = {
        "volumeType": "gp3",
        "encrypted": _YES,
        "deleteOnTermination": _YES,
        **key,
        **(size or {}),
    }
    return {"deviceName": device, "ebs": ebs}
