"""Before a capacity block is bought: has anybody bought this offer already, and told nobody?

An engine that is killed between the purchase and its own state knows of no block, and would buy it again; AWS
takes the money each time. The tag of the offer is put on at the purchase itself, so the account can be asked.
"""

import pulumi

from gpuyard.catalogue.software.providers import PROVIDERS
from gpuyard.findings import Fix, refuse
from gpuyard.names import OFFERING_TAG
from gpuyard.render.cloud.before import BLOCK_BOUGHT
from gpuyard.render.cloud.graph import BLOCK, CloudResource
from gpuyard.resources.clusters.guarding import last_state
from gpuyard.resources.errors import PlatformRefused

_NONE = ("no matching", "couldn't find resource", "empty result")
"""How the provider says that nothing has the tag (SingularDataSourceFindError); all else is no answer."""


def refuse_bought_twice(block: CloudResource) -> None:
    """PlatformRefused where the offer was bought by a deployment that this state knows nothing of."""
    offer = str(block.inputs["capacityBlockOfferingId"])
    if _has(offer):
        return
    filters = [{"name": f"tag:{OFFERING_TAG}", "values": [offer]}]
    opts = pulumi.InvokeOptions(version=PROVIDERS["aws"].version)
    try:
        answer = pulumi.runtime.invoke(BLOCK_BOUGHT, {"filters": filters}, opts).value
    except Exception as problem:  # noqa: BLE001  the SDK has no other class
        said = str(problem)
        if any(each in said for each in _NONE):
            return
        raise _refused(
            offer,
            f"nobody can say whether {offer} was bought already, so it is not bought: {said}",
            "ask again when the cloud answers; `ec2:DescribeCapacityReservations` must be allowed",
        ) from None
    if held := answer.get("id"):
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
