"""A look at an operator that is not ours: whether nodes will be what the plan says.

Each preview and each `up` looks at the one ClusterPolicy of the cluster; where nobody can look, it says
nothing.
"""

import pulumi

from gpuyard.names import CLUSTER_POLICY
from gpuyard.plan.records import PlatformPlan
from gpuyard.render.gpu_operator.existing_operator import differences, required_values
from gpuyard.render.text import yaml_text
from gpuyard.resources.diagnosis.kubectl import Kubectl
from gpuyard.resources.diagnosis.ownership import owner_of


def warn_other_operator(kubectl: Kubectl, plan: PlatformPlan) -> pulumi.Output[str] | None:
    """Look and tell beside the deployment; None where there is no other's operator to look at."""
    if not required_values(plan):
        return None
    return pulumi.Output.from_input(_message(kubectl, plan))


async def _message(kubectl: Kubectl, plan: PlatformPlan) -> str:
    """A warning, or nothing; a look that fails must fail no deployment."""
    try:
        message = await other_operator_message(kubectl, plan)
    except Exception as problem:  # noqa: BLE001  whatever a cluster may answer
        pulumi.log.debug(f"no look at the GPU Operator: {problem}")
        return ""
    if message:
        pulumi.log.warn(message)
    return message


async def other_operator_message(kubectl: Kubectl, plan: PlatformPlan) -> str:
    """What there is to say of the operator; empty where it agrees, or nobody could look."""
    result = await kubectl.get("clusterpolicies.nvidia.com", "--ignore-not-found")
    if result is None:
        return ""
    policies = {each["metadata"]["name"]: each for each in result.get("items") or []}
    policy = policies.get(CLUSTER_POLICY) or next(iter(policies.values()), None)
    namespace = plan.spec.gpu_operator.namespace
    if policy is None:
        return (
            "The stack file says that the cluster has a GPU Operator, and it has no ClusterPolicy: no node"
            " advertises a GPU.\n"
            f"  fix: install one into {namespace}, or leave `gpu_operator` out and get it from the platform"
        )
    mismatches = differences(plan, policy)
    if not mismatches:
        return ""
    lines = "".join(f"\n    {each}" for each in mismatches)
    values = "".join(f"\n    {line}" for line in yaml_text(required_values(plan)).splitlines())
    return (
        f"ClusterPolicy {policy['metadata']['name']} is not as nodes of this platform need it:{lines}\n"
        f"  {owner_of(policy)}\n"
        f"  fix: have its owner give the chart in {namespace} these values too:{values}"
    )
