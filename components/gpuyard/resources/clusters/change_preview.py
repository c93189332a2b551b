"""Before anything is registered: what the deployment would remove of the last one.

The engine gives a program its own last state (`pulumi:pulumi:readStackResourceOutputs`): the
outputs of every resource, in a preview as in an `up`. `gpuyard check --against` reports the same
for an exported state.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import pulumi
from pulumi.runtime.proto import resource_pb2
from pulumi.runtime.settings import monitor_supports_feature

from gpuyard.changes.deployed_state import DeployedState, deployed_state_from_engine
from gpuyard.changes.destroy_blockers import RolloutWaves
from gpuyard.changes.findings import change_findings
from gpuyard.changes.planned_changes import Effect, plan_changes
from gpuyard.changes.platforms import driver_of
from gpuyard.changes.preserved_labels import with_sizes
from gpuyard.plan.pools.own_nodes import labels_nodes
from gpuyard.plan.records import PlatformPlan
from gpuyard.render.cloud.graph import CloudGraph
from gpuyard.resources.errors import PlatformRejected
from gpuyard_core.findings import Diagnostic, Severity

_LAST_STATE = "pulumi:pulumi:readStackResourceOutputs"


@dataclass(frozen=True, slots=True)
class ChangePreview:
    """Effects of a deployment on existing resources."""

    findings: tuple[Diagnostic, ...] = ()
    rollout_waves: RolloutWaves = ()
    """The order of pools if several of them change."""
    driver_rollouts: Mapping[str, str] = field(default_factory=dict[str, str])
    """Pools whose driver the operator changes, with their current driver."""
    resized: CloudGraph | None = None
    """The cloud graph, if the size limits of deployed node groups change."""


def preview_changes(name: str, plan: PlatformPlan) -> ChangePreview:
    """The changes and their findings; PlatformRejected if a loss is not approved.

    Without cloud nodes no purchased capacity is given up: only jobs are lost, on GPUs that are
    repartitioned or get another driver.
    """
    graph = plan.provider.graph(plan)
    driven = any(driver_of(plan, each) for each in plan.pools)
    cuts = any(labels_nodes(plan.spec, each) for each in plan.spec.pools)
    asks = graph is not None or plan.simulated or driven or cuts
    state = last_known_state() if asks else None
    if state is None:
        return ChangePreview()
    changes = plan_changes(plan, graph, state, name)
    resized = with_sizes(graph, state.cloud_resources(name, graph)) if graph is not None else None
    if graph is None:
        jobs = tuple(
            each
            for each in changes.disruptions
            if each.effect in {Effect.REPARTITIONS, Effect.ROLLS}
        )
        changes = replace(changes, disruptions=jobs, reduced_quotas=(), unplanned_removals=())
    result = change_findings(plan, changes)
    if rejected := [each for each in result if each.severity is Severity.ERROR]:
        raise PlatformRejected(f"the change preview of platform {plan.name}", rejected)
    return ChangePreview(tuple(result), changes.rollout_waves, changes.driver_rollouts, resized)


def keep_node_group_sizes(component: str, part: str, graph: CloudGraph) -> CloudGraph:
    """The graph for a component outside a Platform, with sizes if the limits of its node groups change."""
    grows = any(each.ignores for each in graph.of_part(part))
    stand = last_known_state() if grows else None
    there = stand.of_part(component, part, graph) if stand is not None else {}
    return with_sizes(graph, there) or graph


def last_known_state() -> DeployedState | None:
    """The resources of the last deployment; None if the engine (or a mock) provides no state."""
    if not monitor_supports_feature(resource_pb2.RESOURCE_MONITOR_FEATURE_ERROR_HOOKS):
        return None
    stack = f"{pulumi.get_organization()}/{pulumi.get_project()}/{pulumi.get_stack()}"
    try:
        answer = pulumi.runtime.invoke(_LAST_STATE, {"stackName": stack}).value
    except Exception as problem:  # noqa: BLE001  a backend that does not tell must not stop a deployment
        pulumi.log.warn(
            f"gpuyard could not read the last state of {stack}, so it reports no losses: "
            f"{problem}\n  fix: check before deploying: pulumi stack export | gpuyard check STACK "
            "--against -"
        )
        return None
    return deployed_state_from_engine(answer.get("outputs", {}))
