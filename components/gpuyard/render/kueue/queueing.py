"""Kueue's objects: flavors, cohorts and a cluster queue for every team."""

from collections.abc import Callable, Iterable
from typing import Any

from gpuyard.plan.queueing.kueue import queued_by_group
from gpuyard.plan.queueing.queueing import pool_choice
from gpuyard.plan.queueing.volcano import uses_volcano
from gpuyard.plan.records import (
    AdmissionCheckPlan,
    CohortPlan,
    FlavorPlan,
    PlatformPlan,
    PriorityPlan,
    Quota,
    ResourceGroup,
    TeamPlan,
)
from gpuyard.render.admission.policy_objects import mutating_policy, resource_rule
from gpuyard.render.kueue.configuration import kueue_configuration_object
from gpuyard.render.kueue.multikueue import multikueue_admission_checks, multikueue_objects
from gpuyard.render.kueue.requeue import pod_failure_policy_objects
from gpuyard.render.objects import Object, managed_object, taint_object, toleration_object
from gpuyard.spec.queueing import PoolChoice, Preemption
from gpuyard.spec.sections import PoolStopPolicy
from gpuyard.spec.teams import StopPolicy
from gpuyard_core.catalogue.kubernetes.api import changes_jobs
from gpuyard_core.manifests.pods import Taint
from gpuyard_core.names import (
    KUEUE_API,
    KUEUE_GROUP,
    PLATFORM_LABEL,
    PRIORITY_LABEL,
    STOP_TAINT,
    TEAM_LABEL,
    TEAM_PRIORITY_LABEL,
)

_UNNAMED = f"!('{PRIORITY_LABEL}' in object.metadata.?labels.orValue({{}}))"
_ON_ITS_OWN = (
    "!object.metadata.?ownerReferences.orValue([])"
    ".exists(o, o.?controller.orValue(false) && o.kind != 'CronJob')"
)
_GIVEN = f"namespaceObject.metadata.labels['{TEAM_PRIORITY_LABEL}']"


def priority_objects(plan: PlatformPlan) -> list[Object]:
    """The policy and its binding; none without priorities or support of the API server."""
    if not changes_jobs(plan.kubernetes) or not any(team.priority for team in plan.teams):
        return []
    name = f"gpuyard-{plan.name}-priority"
    added = f"Object{{metadata: Object.metadata{{labels: {{'{PRIORITY_LABEL}': {_GIVEN}}}}}}}"
    groups = queued_by_group(plan.spec).items()
    return mutating_policy(
        plan.name,
        name,
        TEAM_PRIORITY_LABEL,
        [
            resource_rule(group, "*", kinds)
            for group, kinds in groups
            if group != "workload.codeflare.dev"  # members may create none (`access`)
        ],
        {"unnamed": _UNNAMED, "on-its-own": _ON_ITS_OWN},
        [{"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": added}}],
    )


STOP_POLICIES = {StopPolicy.HOLD: "Hold", StopPolicy.DRAIN: "HoldAndDrain"}


def queueing_objects(plan: PlatformPlan) -> list[Object]:
    """Flavors and cohorts first: a cluster queue that names a missing one is inactive."""
    if uses_volcano(plan.spec):
        return []
    # With an existing Kueue, its own chart has the configuration.
    simulated = plan.simulated
    return [
        *([kueue_configuration_object(plan)] if simulated else []),
        *(_priority(plan.name, priority) for priority in plan.queueing.priorities),
        *priority_objects(plan),
        *pod_failure_policy_objects(plan),
        *topology_objects(plan),
        *(_flavor(plan.name, flavor) for flavor in plan.queueing.flavors),
        *check_objects(plan),
        *multikueue_objects(plan),
        *(_cohort(plan, cohort) for cohort in plan.queueing.cohorts),
        *(_cluster_queue(plan, team) for team in plan.teams),
    ]


def _priority(owner: str, priority: PriorityPlan) -> Object:
    """The value is a top-level field: this kind has no spec."""
    return managed_object(
        owner,
        KUEUE_API,
        "WorkloadPriorityClass",
        priority.name,
        value=priority.value,
        description=f"priority class of platform {owner}",
    )


def _flavor(owner: str, flavor: FlavorPlan) -> Object:
    # a stop policy is a taint that the flavor does not tolerate for its pods, so queues skip it
    stop_taints = (Taint(STOP_TAINT, PoolStopPolicy.HOLD.value),) if flavor.stopped else ()
    spec = {
        "nodeLabels": dict(flavor.node_labels),
        "nodeTaints": [taint_object(t) for t in (*flavor.taints, *stop_taints)],
        "tolerations": [toleration_object(t) for t in flavor.taints],
        **topology_name(flavor),
    }
    return managed_object(owner, KUEUE_API, "ResourceFlavor", flavor.name, spec=spec)


def _cohort(plan: PlatformPlan, cohort: CohortPlan) -> Object:
    spec: dict[str, Any] = {}
    if cohort.parent:
        spec["parentName"] = cohort.parent
    if cohort.title and plan.queueing.fair_sharing:
        spec["fairSharing"] = {"weight": f"{cohort.weight:g}"}
    if cohort.limits:
        spec["resourceGroups"] = _limits(plan, cohort)
    elif cohort.resource_groups:
        spec["resourceGroups"] = _quotas(plan, cohort.resource_groups, cohort.quotas, limits=False)
    return managed_object(plan.name, KUEUE_API, "Cohort", cohort.name, **_spec_field(spec))


def _spec_field(spec: Object) -> dict[str, Any]:
    """The spec, if it is not empty.

    Server-side apply sends null to remove the last field of a mapping, which the API server rejects
    for every kind with a definition: an empty mapping can be created, but not reached by an update.
    """
    return {"spec": spec} if spec else {}


_WHEN_CAN_BORROW = {PoolChoice.GUARANTEE: "TryNextFlavor", PoolChoice.ORDER: "MayStopSearch"}


def _cluster_queue(plan: PlatformPlan, team: TeamPlan) -> Object:
    spec: dict[str, Any] = {
        "cohortName": team.cohort,
        "namespaceSelector": {
            "matchLabels": {PLATFORM_LABEL: plan.name, TEAM_LABEL: team.stable_name}
        },
        "queueingStrategy": "BestEffortFIFO",
        "flavorFungibility": {
            "whenCanBorrow": _WHEN_CAN_BORROW[pool_choice(plan, team)],
            "whenCanPreempt": "TryNextFlavor",
        },
        "preemption": _preemption(plan.queueing.preemption),
        "resourceGroups": _quotas(plan, team.resource_groups, team.quotas, limits=True),
        **admission_checks(plan, team),
    }
    if plan.queueing.fair_sharing:
        spec["fairSharing"] = {"weight": f"{team.weight:g}"}
    if plan.queueing.usage_half_life_hours is not None:
        spec["admissionScope"] = {"admissionMode": "UsageBasedAdmissionFairSharing"}
    if checks := multikueue_admission_checks(
        plan
    ):  # never with those above: `provisioning.clusters`
        spec["admissionChecksStrategy"] = {"admissionChecks": checks}
    if team.stop_policy:
        spec["stopPolicy"] = STOP_POLICIES[team.stop_policy]
    return managed_object(plan.name, KUEUE_API, "ClusterQueue", team.cluster_queue, spec=spec)


def _preemption(policy: Preemption) -> dict[str, Any]:
    if policy is Preemption.RECLAIM:
        return {"reclaimWithinCohort": "Any", "withinClusterQueue": "LowerPriority"}
    return {"reclaimWithinCohort": "Never", "withinClusterQueue": "Never"}


def _limits(plan: PlatformPlan, cohort: CohortPlan) -> list[Object]:
    """A cohort's own quota is zero; its limits count its queues and the cohorts below it."""
    by_key = {(plan.pool(m.pool).flavor, m.resource): m for m in cohort.limits}

    def entry(flavor: str, resource: str) -> Object:
        limit = by_key.get((flavor, resource))
        result: Object = {"name": resource, "nominalQuota": "0"}
        if limit and limit.borrow is not None:
            result["borrowingLimit"] = str(limit.borrow)
        if limit and limit.lend is not None:
            result["lendingLimit"] = str(limit.lend)
        return result

    return resource_group_objects(cohort.resource_groups, entry)


def _quotas(
    plan: PlatformPlan, groups: Iterable[ResourceGroup], quotas: Iterable[Quota], *, limits: bool
) -> list[Object]:
    by_key = {(plan.pool(q.pool).flavor, q.resource): q for q in quotas}
    return resource_group_objects(
        groups, lambda flavor, name: _resource(name, by_key.get((flavor, name)), limits=limits)
    )


def resource_group_objects(
    groups: Iterable[ResourceGroup], entry: Callable[[str, str], Object]
) -> list[Object]:
    """The resources that Kueue counts together, with an entry for each flavor and resource."""
    return [
        {
            "coveredResources": list(group.resources),
            "flavors": [
                {"name": flavor, "resources": [entry(flavor, r) for r in group.resources]}
                for flavor in group.flavors
            ],
        }
        for group in groups
    ]


def _resource(name: str, quota: Quota | None, *, limits: bool) -> Object:
    """Every flavor of a group lists all its resources; 0 for one that is missing or not allowed."""
    entry: Object = {"name": name, "nominalQuota": str(quota.nominal if quota else 0)}
    if limits:
        entry["borrowingLimit"] = str(quota.borrow if quota else 0)
        if quota and quota.lend is not None:
            entry["lendingLimit"] = str(quota.lend)
    return entry


_CONFIG = "ProvisioningRequestConfig"
CONTROLLER = f"{KUEUE_GROUP}/provisioning-request"


def check_objects(plan: PlatformPlan) -> list[Object]:
    """The configuration before the check that refers to it: a check without it is inactive."""
    return [obj for check in plan.queueing.checks for obj in _check(plan.name, check)]


def _check(owner: str, check: AdmissionCheckPlan) -> list[Object]:
    config: dict[str, Any] = {
        "provisioningClassName": check.provisioning_class,
        "retryStrategy": {
            "backoffLimitCount": check.retries,
            "backoffBaseSeconds": check.first_wait_seconds,
            "backoffMaxSeconds": check.longest_wait_seconds,
        },
    }
    if check.parameters:
        config["parameters"] = dict(check.parameters)
    if check.resources:
        config["managedResources"] = list(check.resources)
    if check.node_label:
        key, detail = check.node_label
        selector = [{"key": key, "valueFromProvisioningClassDetail": detail}]
        config["podSetUpdates"] = {"nodeSelector": selector}
    named = {"apiGroup": KUEUE_GROUP, "kind": _CONFIG, "name": check.name}
    spec = {"controllerName": CONTROLLER, "parameters": named}
    return [
        managed_object(owner, KUEUE_API, _CONFIG, check.name, spec=config),
        managed_object(owner, KUEUE_API, "AdmissionCheck", check.name, spec=spec),
    ]


def admission_checks(plan: PlatformPlan, team: TeamPlan) -> dict[str, Any]:
    """The part of a queue's spec with its checks, each for the flavors that it applies to."""
    queue_flavors = {flavor for group in team.resource_groups for flavor in group.flavors}
    checks = []
    for check in plan.queueing.checks:
        checked_flavors = [
            p.flavor
            for p in plan.pools
            if p.provisioning is check.provisioning and p.flavor in queue_flavors
        ]
        if checked_flavors:
            checks.append({"name": check.name, "onFlavors": checked_flavors})
    return {"admissionChecksStrategy": {"admissionChecks": checks}} if checks else {}


def topology_objects(plan: PlatformPlan) -> list[Object]:
    """One for each distinct list of levels; a queue whose flavor names a missing one is inactive."""
    return [
        managed_object(
            plan.name,
            KUEUE_API,
            "Topology",
            topology.name,
            spec={"levels": [{"nodeLabel": level} for level in topology.levels]},
        )
        for topology in plan.queueing.topologies
    ]


def topology_name(flavor: FlavorPlan) -> dict[str, Any]:
    """The part of a flavor's spec that names its topology."""
    return {"topologyName": flavor.topology} if flavor.topology else {}
