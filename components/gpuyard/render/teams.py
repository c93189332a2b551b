"""A team's objects: namespace, limits, network, access and queue."""

from gpuyard.plan.queueing.volcano import uses_volcano
from gpuyard.plan.records import NamespacePlan, PlatformPlan, TeamPlan
from gpuyard.plan.records.queues import usable_pools
from gpuyard.plan.teams.namespaces import stricter
from gpuyard.render.access import access_objects, deployment_objects
from gpuyard.render.admission.team_parameters import parameters_of
from gpuyard.render.gpu_operator.claims import claim_objects
from gpuyard.render.limits import limit_objects
from gpuyard.render.network import network_policy
from gpuyard.render.objects import Object, managed_object
from gpuyard_core.names import (
    BUDGET_ANNOTATION,
    EXISTING_ANNOTATION,
    ISOLATION_LABEL,
    KUEUE_API,
    NCCL_SCRIPT,
    POD_SECURITY_AUDIT_LABEL,
    POD_SECURITY_LABEL,
    POD_SECURITY_WARN_LABEL,
    PROTECT_ANNOTATION,
    TEAM_LABEL,
    TEAM_PRIORITY_LABEL,
    nccl_name,
)


def team_objects(plan: PlatformPlan, team: TeamPlan) -> list[Object]:
    """The objects of each namespace, one namespace after the other."""
    return [each for space in team.namespaces for each in _in_namespace(plan, team, space)]


def _in_namespace(plan: PlatformPlan, team: TeamPlan, space: NamespacePlan) -> list[Object]:
    """In the order in which they must exist: namespace, limits, access, and queues last."""
    return [
        _namespace(plan, team, space),
        *limit_objects(plan, team, space),
        network_policy(plan, team, space),
        *access_objects(plan, team, space),
        *deployment_objects(plan, team, space),
        *claim_objects(plan, team, space),
        *_nccl(plan, team, space),
        *(
            _queue(plan, team, space, name, weight)
            for name, weight in ({} if uses_volcano(plan.spec) else team.queues).items()
        ),
    ]


def _nccl(plan: PlatformPlan, team: TeamPlan, space: NamespacePlan) -> list[Object]:
    """NCCL's variables for each pool available to the team, for `envFrom`."""
    objects: list[Object] = []
    for name in usable_pools(team.quotas):
        pool = plan.pool(name)
        if pool.nccl is None or not pool.nccl.variables:
            continue
        script = {NCCL_SCRIPT: pool.nccl.script} if pool.nccl.script else {}
        data = {**pool.nccl.variables, **script}
        config = nccl_name(pool.stable_name)
        objects.append(
            managed_object(plan.name, "v1", "ConfigMap", config, namespace=space.name, data=data)
        )
    return objects


def _namespace(plan: PlatformPlan, team: TeamPlan, space: NamespacePlan) -> Object:
    """Pod Security has the platform's Kubernetes version: a newer one adds no denials.

    Users who apply a Job get warnings only for what its pods would be denied for: warnings about
    allowed fields at each apply would soon be ignored. The audit log uses the next stricter level.
    """
    version = f"v{plan.kubernetes}"
    levels = {
        POD_SECURITY_LABEL: team.pod_security,
        POD_SECURITY_WARN_LABEL: team.pod_security,
        POD_SECURITY_AUDIT_LABEL: stricter(team.pod_security),
    }
    budget = team.budget_usd_per_month
    return managed_object(
        plan.name,
        "v1",
        "Namespace",
        space.name,
        labels={
            TEAM_LABEL: team.stable_name,
            ISOLATION_LABEL: team.isolation.value,
            **({TEAM_PRIORITY_LABEL: team.priority} if team.priority else {}),
            **{label: level.value for label, level in levels.items()},
            **{f"{label}-version": version for label in levels},
        },
        annotations={
            **parameters_of(plan, team).annotations(),
            **({EXISTING_ANNOTATION: "true"} if space.existing else {}),
            **({PROTECT_ANNOTATION: "true"} if team.protect and not space.existing else {}),
            **({} if budget is None else {BUDGET_ANNOTATION: f"{budget:.2f}".removesuffix(".00")}),
        },
    )


def _queue(
    plan: PlatformPlan, team: TeamPlan, space: NamespacePlan, name: str, weight: float
) -> Object:
    """A LocalQueue for the team's cluster queue; its weight applies when usage is counted."""
    spec: Object = {"clusterQueue": team.cluster_queue}
    if plan.queueing.usage_half_life_hours is not None:
        spec["fairSharing"] = {"weight": f"{weight:g}"}
    return managed_object(
        plan.name,
        KUEUE_API,
        "LocalQueue",
        name,
        namespace=space.name,
        spec=spec,
    )
