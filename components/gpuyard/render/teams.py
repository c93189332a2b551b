"""A team's objects: namespace, access, quota and queue."""

from gpuyard.plan.names import ISOLATION_LABEL, POD_SECURITY_LABEL, TEAM_LABEL
from gpuyard.plan.records import PlatformPlan, TeamPlan
from gpuyard.render.objects import Object, made, namespace_object

POD_SECURITY = "baseline"
"""No privileged pods, no host access; `restricted` would refuse pods that lock memory for RDMA."""


def team_objects(plan: PlatformPlan, team: TeamPlan) -> list[Object]:
    """In the order in which they must exist: the namespace first, the queue after its cluster queue."""
    objects = [
        namespace_object(
            plan,
            team.namespace,
            {
                TEAM_LABEL: team.namespace,
                ISOLATION_LABEL: team.isolation,
                POD_SECURITY_LABEL: POD_SECURITY,
            },
        ),
        made(
            plan,
            "v1",
            "ResourceQuota",
            "gpuyard",
            namespace=team.namespace,
            spec={"hard": _hard(team)},
        ),
    ]
    if team.groups:
        objects.append(_access(plan, team))
    objects.append(
        made(
            plan,
            "kueue.x-k8s.io/v1beta2",
            "LocalQueue",
            team.local_queue,
            namespace=team.namespace,
            spec={"clusterQueue": team.cluster_queue},
        )
    )
    return objects


def _hard(team: TeamPlan) -> dict[str, str]:
    """Quantities as text: the form in which the API server gives them back."""
    return {resource: str(amount) for resource, amount in team.hard.items()}


def _access(plan: PlatformPlan, team: TeamPlan) -> Object:
    """Members may work with pods and jobs in the namespace, not with its quota or its role bindings."""
    return made(
        plan,
        "rbac.authorization.k8s.io/v1",
        "RoleBinding",
        "gpuyard-members",
        namespace=team.namespace,
        roleRef={"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "edit"},
        subjects=[
            {"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": group}
            for group in team.groups
        ],
    )
