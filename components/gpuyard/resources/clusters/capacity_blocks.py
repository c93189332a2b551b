"""Before a capacity block is bought: has anybody bought this offer already, and told nobody?

An engine that is killed between the purchase and its own state knows of no block, and would buy it again; AWS
takes the money each time. The tag of the offer is put on at the purchase itself, so the account can be asked.
It is asked through AWS's list of what has tags: the provider's own question about blocks
(`DataSourceCapacityBlockReservation` of terraform-provider-aws, as of 2026-06) sends an empty id beside any
filter, which EC2 refuses as malformed.
"""

import pulumi

from gpuyard.catalogue.software.providers import PROVIDERS
from gpuyard.findings import Fix, error
from gpuyard.names import OFFERING_TAG
from gpuyard.render.cloud.graph import BLOCK, CloudResource
from gpuyard.render.cloud.prerequisites import TAGGED
from gpuyard.resources.clusters.change_preview import last_known_state
from gpuyard.resources.errors import PlatformRejected

_RESERVATIONS = "ec2:capacity-reservation"


def reject_duplicate_block(block: CloudResource) -> None:
    """PlatformRejected where the offer was bought by a deployment that this state knows nothing of."""
    offer = str(block.inputs["capacityBlockOfferingId"])
    if _has(offer):
        return
    filters = {
        "resourceTypeFilters": [_RESERVATIONS],
        "tagFilters": [{"key": OFFERING_TAG, "values": [offer]}],
    }
    opts = pulumi.InvokeOptions(version=PROVIDERS["aws"].version)
    try:
        answer = pulumi.runtime.invoke(TAGGED, filters, opts).value
    except Exception as problem:  # noqa: BLE001  the SDK has no other class
        raise _refused(
            offer,
            f"nobody can say whether {offer} was bought already, so it is not bought: {problem}",
            "ask again when the cloud answers; `tag:GetResources` must be allowed",
        ) from None
    if result := answer.get("resourceTagMappingLists"):
        reservation = str(result[0]["resourceArn"]).rpartition("/")[2]
        raise _refused(
            offer,
            f"{offer} was bought already, as {reservation}, and this stack's state does not have it",
            f"`gpuyard recover STACK` takes it up where the deployment that bought it was killed;"
            f" else write `block: {reservation}` in place of the offer, without `purchase`",
        )


def _has(offer: str) -> bool:
    """Whether the last deployment of this stack has it."""
    state = last_known_state()
    resources = state.resources if state else ()
    return any(
        each.kind == BLOCK and each.outputs.get("capacityBlockOfferingId") == offer
        for each in resources
    )


def _refused(offer: str, problem: str, fix: str) -> PlatformRejected:
    finding = error("live.block", ("pools",), problem, value=offer, fix=Fix(message=fix))
    return PlatformRejected("the purchase of a capacity block", [finding])
