"""Tags of what a platform buys at AWS: whose it is, who pays, and what the stack file adds."""

from gpuyard.names import PLATFORM_LABEL, POOL_LABEL
from gpuyard.plan.records import PlatformPlan

_OWNER, _COST_CENTER = "owner", "cost-center"


def aws_tags(plan: PlatformPlan, part: str = "", owner: str = "") -> dict[str, str]:
    """Tags of a resource that is there for a pool, or for the whole cluster.

    A bill without a name is nobody's: where the stack file names no owner and no cost centre it is the teams
    that own the pool, and else the platform.
    """
    user_tags = plan.spec.tags
    written = {key.lower().replace("_", "-") for key in user_tags}
    ours = {PLATFORM_LABEL: plan.name}
    if part:
        ours[POOL_LABEL] = part
    ours |= {
        key: value
        for key, value in ((_OWNER, owner or plan.name), (_COST_CENTER, plan.name))
        if key not in written
    }
    return dict(sorted({**user_tags, **ours}.items()))
