"""Prevents a second purchase of a capacity block whose first purchase is missing from the state.

If the engine is killed between the purchase and the write of its state, it would purchase the block
again, and AWS charges each time. The offer's tag is set with the purchase, so the account can be
queried for it. The query uses AWS's tagging API: the provider's data source for blocks
(`DataSourceCapacityBlockReservation` of terraform-provider-aws, as of 2026-06) sends an empty id
with any filter, which EC2 rejects as malformed.
"""

import pulumi

from gpuyard.render.cloud.graph import BLOCK, CloudResource
from gpuyard.render.cloud.prerequisites import TAGGED
from gpuyard.resources.clusters.change_preview import last_known_state
from gpuyard.resources.errors import PlatformRejected
from gpuyard.sdk_classes import sdk_version
from gpuyard_core.findings import Fix, error
from gpuyard_core.names import OFFERING_TAG

_RESERVATIONS = "ec2:capacity-reservation"


def reject_purchased_offering(block: CloudResource) -> None:
    """Raise PlatformRejected if the offer was purchased by a deployment that is missing from the state."""
    offer = str(block.inputs["capacityBlockOfferingId"])
    if _has(offer):
        return
    filters = {
        "resourceTypeFilters": [_RESERVATIONS],
        "tagFilters": [{"key": OFFERING_TAG, "values": [offer]}],
    }
    opts = pulumi.InvokeOptions(version=sdk_version("aws"))
    try:
        answer = pulumi.runtime.invoke(TAGGED, filters, opts).value
    except Exception as problem:  # noqa: BLE001  the SDK has no other class
        raise _refused(
            offer,
            f"gpuyard cannot determine whether {offer} was already purchased, so it does not "
            f"purchase it: {problem}",
            "retry when the cloud API responds; `tag:GetResources` must be allowed",
        ) from None
    if result := answer.get("resourceTagMappingLists"):
        reservation = str(result[0]["resourceArn"]).rpartition("/")[2]
        raise _refused(
            offer,
            f"{offer} was already purchased as {reservation}, which is missing from this stack's "
            "state",
            "run `gpuyard recover STACK` if the deployment that purchased it was interrupted; "
            f"otherwise set `block: {reservation}` in place of the offer, without `purchase`",
        )


def _has(offer: str) -> bool:
    """Whether the last deployment of this stack has the offer."""
    state = last_known_state()
    resources = state.resources if state else ()
    return any(
        each.kind == BLOCK and each.outputs.get("capacityBlockOfferingId") == offer
        for each in resources
    )


def _refused(offer: str, problem: str, fix: str) -> PlatformRejected:
    finding = error("live.block", ("pools",), problem, given=offer, fix=Fix(message=fix))
    return PlatformRejected("the purchase of a capacity block", [finding])
