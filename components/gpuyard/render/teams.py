"""A team's objects: namespace, limits, network, access and queue."""

from typing import Any

from gpuyard.plan.queueing.volcano import uses_volcano
from gpuyard.plan.records import EgressNetwork, NamespacePlan, PlatformPlan, ShapePlan, TeamPlan
from gpuyard.plan.records.queues import usable_pools
from gpuyard.plan.sharing.dra import installs_dra_driver
from gpuyard.plan.teams.namespaces import stricter
from gpuyard.plan.workloads.addons import addons_of
from gpuyard.render.access import access_objects, deployment_objects
from gpuyard.render.admission.team_parameters import parameters_of
from gpuyard.render.limits import limit_objects
from gpuyard.render.objects import Object, managed_object
from gpuyard_core.catalogue.kubernetes.claims import GPU_CLASS
from gpuyard_core.catalogue.software.addons import addon_facts
from gpuyard_core.names import (
    BUDGET_ANNOTATION,
    CHANNEL_SUFFIX,
    COMPUTE_DOMAINS_GROUP,
    EXISTING_ANNOTATION,
    ISOLATION_LABEL,
    KUBE_SYSTEM,
    KUEUE_API,
    NAMESPACE_LABEL,
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


REQUEST = "gpus"
"""Name of the only request of a claim."""


def claim_objects(plan: PlatformPlan, team: TeamPlan, space: NamespacePlan) -> list[Object]:
    """The objects of one namespace; none if the team claims no GPUs."""
    claimed = {pool.name: pool.dra for pool in plan.pools if pool.dra}
    shapes = [s for s in plan.shapes if s.pool in claimed and team.name in s.teams]
    domains = [
        _domain(plan, space, shape)
        for shape in shapes
        if shape.nodes > 1
        and claimed[shape.pool].compute_domains
        and installs_dra_driver(plan.spec)
    ]
    return [*(_template(plan, space, shape) for shape in shapes), *domains]


def _template(plan: PlatformPlan, space: NamespacePlan, shape: ShapePlan) -> Object:
    exactly = {
        "deviceClassName": GPU_CLASS,
        "allocationMode": "ExactCount",
        "count": shape.per_node,
    }
    return managed_object(
        plan.name,
        "resource.k8s.io/v1",
        "ResourceClaimTemplate",
        shape.name,
        namespace=space.name,
        spec={"spec": {"devices": {"requests": [{"name": REQUEST, "exactly": exactly}]}}},
    )


def _domain(plan: PlatformPlan, space: NamespacePlan, shape: ShapePlan) -> Object:
    """Without a number of nodes: pods join as they start, and the field is deprecated (v0.5.0)."""
    channel = {
        "allocationMode": "Single",
        "resourceClaimTemplate": {"name": f"{shape.name}{CHANNEL_SUFFIX}"},
    }
    return managed_object(
        plan.name,
        f"{COMPUTE_DOMAINS_GROUP}/v1beta1",
        "ComputeDomain",
        shape.name,
        namespace=space.name,
        spec={"numNodes": 0, "channel": channel},
    )


POLICY = "gpuyard"
_NAMES = 53


def network_policy(plan: PlatformPlan, team: TeamPlan, space: NamespacePlan) -> Object:
    """Only the listed traffic is allowed; policies of team members can only allow more."""
    here: Object = {"podSelector": {}}
    egress: list[Object] = [{"to": [here]}, _names(team)]
    if team.egress:
        egress.append({"to": [_outside(reach) for reach in team.egress]})
    return managed_object(
        plan.name,
        "networking.k8s.io/v1",
        "NetworkPolicy",
        POLICY,
        namespace=space.name,
        spec={
            "podSelector": {},
            "policyTypes": ["Ingress", "Egress"],
            "ingress": [{"from": [here]}, *_controllers(plan, team)],
            "egress": egress,
        },
    )


def _controllers(plan: PlatformPlan, team: TeamPlan) -> list[Object]:
    """The controllers of add-ons that call pods of the team."""
    facts = [addon_facts()[name] for name in addons_of(plan, team)]
    return [
        {
            "from": [{"namespaceSelector": {"matchLabels": {NAMESPACE_LABEL: each.namespace}}}],
            "ports": [{"protocol": "TCP", "port": port} for port in each.ports],
        }
        for each in facts
        if each.ports
    ]


def _names(team: TeamPlan) -> Object:
    """Cluster DNS by its namespace, and DNS caches on nodes by their address."""
    peers: list[Object] = [
        {"namespaceSelector": {"matchLabels": {NAMESPACE_LABEL: KUBE_SYSTEM}}},
        *({"ipBlock": {"cidr": cidr}} for cidr in team.name_servers),
    ]
    return {
        "to": peers,
        "ports": [{"protocol": protocol, "port": _NAMES} for protocol in ("UDP", "TCP")],
    }


def _outside(reach: EgressNetwork) -> Object:
    block: dict[str, Any] = {"cidr": reach.cidr}
    if reach.without:
        block["except"] = list(reach.without)
    return {"ipBlock": block}
