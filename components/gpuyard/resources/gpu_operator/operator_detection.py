"""Compares an existing GPU Operator with the plan.

Each preview and each `up` reads the cluster's one ClusterPolicy; a failed query is ignored.
"""

import pulumi

from gpuyard.plan.records import PlatformPlan
from gpuyard.render.gpu_operator.existing_operator import differences, required_values
from gpuyard.render.text import yaml_text
from gpuyard.resources.diagnosis.kubectl import Kubectl
from gpuyard.resources.diagnosis.ownership import owner_of
from gpuyard_core.names import CLUSTER_POLICY


def warn_other_operator(kubectl: Kubectl, plan: PlatformPlan) -> pulumi.Output[str] | None:
    """Query and warn in parallel to the deployment; None if gpuyard installs the operator."""
    if not required_values(plan):
        return None
    return pulumi.Output.from_input(_message(kubectl, plan))


async def _message(kubectl: Kubectl, plan: PlatformPlan) -> str:
    """The warning, or ""; a failed query never fails the deployment."""
    try:
        message = await other_operator_message(kubectl, plan)
    except Exception as problem:  # noqa: BLE001  a failed query is ignored
        pulumi.log.debug(f"gpuyard could not read the GPU Operator: {problem}")
        return ""
    if message:
        pulumi.log.warn(message)
    return message


async def other_operator_message(kubectl: Kubectl, plan: PlatformPlan) -> str:
    """The mismatches of the operator; "" if it matches, or if the query failed."""
    result = await kubectl.get("clusterpolicies.nvidia.com", "--ignore-not-found")
    if result is None:
        return ""
    policies = {each["metadata"]["name"]: each for each in result.get("items") or []}
    policy = policies.get(CLUSTER_POLICY) or next(iter(policies.values()), None)
    namespace = plan.spec.gpu_operator.namespace
    if policy is None:
        return (
            "The stack file expects an existing GPU Operator, but the cluster has no "
            f"ClusterPolicy: no node advertises a GPU.\n  fix: install one into {namespace}, or "
            "remove `gpu_operator` so that gpuyard installs it"
        )
    mismatches = differences(plan, policy)
    if not mismatches:
        return ""
    lines = "".join(f"\n    {each}" for each in mismatches)
    values = "".join(f"\n    {line}" for line in yaml_text(required_values(plan)).splitlines())
    return (
        f"ClusterPolicy {policy['metadata']['name']} does not match what nodes of this platform "
        f"need:{lines}\n  {owner_of(policy)}\n  fix: ask its owner to add these values to the "
        f"chart in {namespace}:{values}"
    )
