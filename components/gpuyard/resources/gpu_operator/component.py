"""GpuOperator component: the operator's chart, or configuration for an existing operator."""

from collections.abc import Mapping, Sequence
from typing import Any, NotRequired

import pulumi

from gpuyard.changes.platforms import driver_rollout_pools
from gpuyard.changes.preserved_labels import with_referenced_node_configs
from gpuyard.plan.records import PlatformPlan
from gpuyard.plan.sharing.dra import operator_serves_dra_claims
from gpuyard.plan.software.support import config_map_names
from gpuyard.render.gpu_operator.dra_driver import dra_driver_release
from gpuyard.render.gpu_operator.existing_operator import differences, required_values
from gpuyard.render.gpu_operator.objects import gpu_operator_objects, operator_namespace
from gpuyard.render.gpu_operator.values import gpu_operator_release
from gpuyard.render.text import yaml_text
from gpuyard.resources.clusters.change_preview import last_known_state
from gpuyard.resources.component import Component, after_created
from gpuyard.resources.diagnosis.kubectl import Kubectl
from gpuyard.resources.diagnosis.ownership import owner_of
from gpuyard.resources.gpu_operator.driver_rollout import DriverRollout, rollout_hooks
from gpuyard.resources.part_args import Part, PartArgs, read_part, sections
from gpuyard.resources.state import spec_without_defaults
from gpuyard_core.names import CLUSTER_POLICY

NO_ROLLOUT = DriverRollout()
_PART = Part("GpuOperator", ("gpu_operator",))


class GpuOperatorArgs(PartArgs):
    """Arguments of a GpuOperator: a platform, or its pools."""

    gpu_operator: NotRequired[sections.Operator]
    """NVIDIA GPU Operator. Default: installed with values that fit the pools."""


class GpuOperator(Component):
    """The GPU Operator: namespace, configuration of its agents, chart with values of the plan.

    Helm does not wait: nodes may start later, and the operator detects them continuously. With
    `install: false` gpuyard uses an existing operator: it adds two ConfigMaps, and each preview and
    each `up` lists values of the operator that do not match the plan. gpuyard never changes or
    deletes that operator.
    """

    configurations: pulumi.Output[dict[str, str]]
    """The ConfigMaps that the operator's agents read, by agent: migManager, devicePlugin."""

    def __init__(
        self,
        name: str,
        args: GpuOperatorArgs,
        opts: pulumi.ResourceOptions | None = None,
        *,
        exchange: DriverRollout = NO_ROLLOUT,
    ) -> None:
        """`exchange`: which pools get another driver in this deployment, and which of them wait."""
        proof, _ = read_part(_PART, name, args, opts)
        plan = proof.plan
        state = {
            "platform": plan.name,
            "gpuOperator": spec_without_defaults(plan.spec.gpu_operator),
        }
        super().__init__("gpuyard:index:GpuOperator", name, state, opts, plan)
        looks, hooks, self._plan = self._kubectl, None, plan
        if looks is not None and driver_rollout_pools(plan):
            hooks = rollout_hooks(name, looks, plan, exchange)
        objects: Sequence[Mapping[str, Any]] = gpu_operator_objects(plan)
        if self._ours is not None and (deployed := last_known_state()):
            objects = with_referenced_node_configs(objects, deployed)
        # On simulated nodes a ClusterPolicy sets the driver version.
        resources = self._register(each for each in objects if each["kind"] != "ClusterPolicy")
        policies = [each for each in objects if each["kind"] == "ClusterPolicy"]
        resources += (policy := self._register(policies, first=hooks))
        self.chart: list[pulumi.CustomResource] = []
        if (operator := gpu_operator_release(plan)) is not None:
            self.chart.append(self._register_chart(plan, operator, resources, first=hooks))
        if (dra_driver := dra_driver_release(plan)) is not None:
            self.chart.append(self._register_chart(plan, dra_driver, resources, "dra-driver"))
        self.told = policy or self.chart
        """The object that sets the driver version."""
        if looks is not None:
            warn_other_operator(looks, plan)
        mig, plugin = config_map_names(plan.spec)
        names: dict[str, str] = {"migManager": mig, "devicePlugin": plugin}
        reads = bool(resources) and not operator_serves_dra_claims(plan.spec)
        self.configurations = after_created(names if reads else {}, *resources)
        self.register_outputs({"configurations": self.configurations})

    def agent_configuration(self) -> list[pulumi.CustomResource]:
        """Configuration that node agents read at their start; nodes wait for it."""
        space = operator_namespace(self._plan)
        read = (
            () if operator_serves_dra_claims(self._plan.spec) else config_map_names(self._plan.spec)
        )
        return [self._object("ConfigMap", each, space) for each in read]


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
