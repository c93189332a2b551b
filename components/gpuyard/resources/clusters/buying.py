"""Before a capacity block is bought: has anybody bought this offer already, and told nobody?

An engine that is killed between the purchase and its own state knows of no block, and would buy it again; AWS
takes the money each time. The tag of the offer is put on at the purchase itself, so the account can be asked.
It is asked through AWS's list of what has tags: the provider's own question about blocks
(`DataSourceCapacityBlockReservation` of terraform-provider-aws, as of 2026-06) sends an empty id beside any
filter, which EC2 refuses as malformed.
"""

import pulumi

from gpuyard.catalogue.software.providers import PROVIDERS
from gpuyard.findings import Fix, refuse
from gpuyard.names import OFFERING_TAG
from gpuyard.render.cloud.before import TAGGED
from gpuyard.render.cloud.graph import BLOCK, CloudResource
from gpuyard.resources.clusters.guarding import last_state
from gpuyard.resources.errors import PlatformRefused

_RESERVATIONS = "ec2:capacity-reservation"


def refuse_bought_twice(block: CloudResource) -> None:
    """PlatformRefused where the offer was bought by a deployment that this state knows nothing of."""
    offer = str(block.inputs["capacityBlockOfferingId"])
    if _has(offer):
        return
    asked = {
        "resourceTypeFilters": [_RESERVATIONS],
        "tagFilters": [{"key": OFFERING_TAG, "values": [offer]}],
    }
    opts = pulumi.InvokeOptions(version=PROVIDERS["aws"].version)
    try:
        answer = pulumi.runtime.invoke(TAGGED, asked, opts).value
    except Exception as problem:  # noqa: BLE001  the SDK has no other class
        raise _refused(
            offer,
            f"nobody can say whether {offer} was bought already, so it is not bought: {problem}",
            "ask again when the cloud answers; `tag:GetResources` must be allowed",
        ) from None
    if found := answer.get("resourceTagMappingLists"):
        held = str(found[0]["resourceArn"]).rpartition("/")[2]
        raise _refused(
            offer,
            f"{offer} was bought already, as {held}, and this stack's state does not have it",
            f"`gpuyard recover STACK` takes it up where the deployment that bought it was killed;"
            f" else write `block: {held}` in place of the offer, without `buys`",
        )


def _has(offer: str) -> bool:
    """Whether the last deployment of this stack has it."""
    stand = last_state()
    there = stand.resources if stand else ()
    return any(
        each.kind == BLOCK and each.outputs.get("capacityBlockOfferingId") == offer
        for each in there
    )


def _refused(offer: str, problem: str, fix: str) -> PlatformRefused:
    finding = refuse("live.block", ("pools",), problem, given=offer, fix=Fix(says=fix))
    return PlatformRefused("the purchase of a capacity block", [finding])
