"""Placement of a group's nodes, and the capacity they come from."""

from collections.abc import Mapping
from typing import Any

from gpuyard.plan.records import CapacityOption, PoolPlan
from gpuyard.render.cloud.graph import BLOCK, CloudResource
from gpuyard_core.catalogue.machines import Capacity
from gpuyard_core.catalogue.node_pools import Ec2CapacitySettings
from gpuyard_core.names import OFFERING_TAG

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
