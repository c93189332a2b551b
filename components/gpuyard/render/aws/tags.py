"""Tags of AWS resources: owner, cost centre, and the tags of the stack file."""

from gpuyard.plan.records import PlatformPlan
from gpuyard_core.names import PLATFORM_LABEL, POOL_LABEL

_OWNER, _COST_CENTER = "owner", "cost-center"


def aws_tags(plan: PlatformPlan, part: str = "", owner: str = "") -> dict[str, str]:
    """Tags of a resource of a pool, or of the whole cluster.

    Every cost needs an owner: without an owner and cost centre in the stack file it is the teams
    that own the pool, otherwise the platform.
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
