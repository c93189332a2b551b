"""Where nodes of a group stand, and out of whose capacity they come."""

from collections.abc import Mapping
from typing import Any

from gpuyard.catalogue.machines import Capacity
from gpuyard.names import OFFERING_TAG
from gpuyard.plan.records import CapacityOption, Ec2Purchase, PoolPlan
from gpuyard.render.cloud.graph import BLOCK, CloudResource

_CLUSTER = "cluster"


def placement_group(
    pool: PoolPlan, tags: Mapping[str, str], part: str | None = None
) -> CloudResource | None:
    """One for all groups of a pool that want their nodes close together: a job may run on two of them.

    It is a `part` of the pool, unless another one is said.
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
    """Whether nodes of this rung stand in the pool's group."""
    return option.placement == _CLUSTER


def placement_name(pool: PoolPlan) -> str:
    """What the graph calls the group of a pool."""
    return f"{pool.stable_name}-placement"


def ec2_purchase(pool: PoolPlan, option: CapacityOption) -> Ec2Purchase:
    """How a rung is said on EC2."""
    if option.aws is None:
        raise ValueError(f"{pool.name} is not bought on AWS")
    return option.aws


def block_purchase(
    pool: PoolPlan,
    option: CapacityOption,
    tags: Mapping[str, str],
    after: tuple[str, ...],
    part: str | None = None,
) -> CloudResource | None:
    """The block that a rung buys: named for its offer, so that another offer is another block.

    AWS gives no block back, and its provider forgets it without a call: it is left where it is until it ends.
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
        after=after,  # nothing is paid before all is there that its nodes need
        retain=True,
    )


def purchase_options(
    pool: PoolPlan,
    option: CapacityOption,
    group: CloudResource | None,
    block: CloudResource | None = None,
) -> dict[str, Any]:
    """What a launch template says about one way of buying a pool's nodes.

    Spot is a word of the node group, not of its template. A reservation has its own place: asked to be in a
    group of ours as well, its machines would stay empty.
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
