"""An EKS cluster: its key, logs, control plane and access entries; or an existing cluster."""

import re

from gpuyard.plan.cluster.ranges import cluster_ranges, cluster_spec
from gpuyard.plan.records import PlatformPlan
from gpuyard.render.aws.network import NetworkParts
from gpuyard.render.aws.place import AwsLocation, aws_resource
from gpuyard.render.cloud.graph import CloudCall, CloudResource
from gpuyard.spec.late_inputs import is_late_input
from gpuyard.spec.sections import LogKind
from gpuyard_core.catalogue.cluster.eks import ADMIN_POLICY, log_retention_days
from gpuyard_core.catalogue.kubernetes.scheduling import PACKING_WEIGHTS

_AUTHORITY, _SERVICES = "certificateAuthority.data", "kubernetesNetworkConfig.serviceIpv4Cidr"
_GROUP = "vpcConfig.clusterSecurityGroupId"
OUTPUTS = {"endpoint": "endpoint", "authority": _AUTHORITY, "services": _SERVICES, "group": _GROUP}
"""Outputs of the cluster that other resources read, by purpose."""
EXISTING_OUTPUTS = {
    "endpoint": "endpoint",
    "authority": "certificateAuthorities.0.data",
    "services": "kubernetesNetworkConfigs.0.serviceIpv4Cidr",
    "group": _GROUP,
}
"""The same outputs of an existing cluster."""
_LOG_NAMES = {LogKind.CONTROLLER_MANAGER: "controllerManager"}


def existing_cluster(plan: PlatformPlan) -> CloudCall:
    """An existing cluster, by its name."""
    return CloudCall(
        kind="aws:eks/getCluster:getCluster",
        name="cluster",
        args={"name": cluster_spec(plan.spec).existing},
        outputs=(
            "name",
            "endpoint",
            "certificateAuthorities",
            "kubernetesNetworkConfigs",
            "vpcConfig",
        ),
    )


def cluster_parts(
    plan: PlatformPlan, place: AwsLocation, network: NetworkParts, roles: list[CloudResource]
) -> list[CloudResource]:
    """The key for secrets, the log group, the cluster, and an entry for each administrator, in this order."""
    key, days = _key(plan), log_retention_days(cluster_spec(plan.spec).logs.retention_days)
    logs = aws_resource(plan, "control-plane-logs", days=days)
    cluster = _cluster(plan, network, roles, key)
    return [*key, logs, cluster, *_admins(plan, place)]


# ── prerequisites ─────────────────────────────────────────────────────────────────────────────────
def _key(plan: PlatformPlan) -> list[CloudResource]:
    """A dedicated key unless one is given: disabling it makes all secrets unreadable."""
    if cluster_spec(plan.spec).key:
        return []
    protect = cluster_spec(plan.spec).protect
    return [
        aws_resource(plan, "secrets-key", protect=protect),
        aws_resource(plan, "secrets-key-alias"),
    ]


# ── the control plane ─────────────────────────────────────────────────────────────────────────────
def _cluster(
    plan: PlatformPlan,
    network: NetworkParts,
    roles: list[CloudResource],
    key: list[CloudResource],
) -> CloudResource:
    spec = cluster_spec(plan.spec)
    services = cluster_ranges(plan.spec).get("services")
    return aws_resource(
        plan,
        "cluster",
        kubernetes=plan.kubernetes,
        role=spec.roles.cluster or roles[0].get("arn"),
        subnets=list(network.control_plane_subnets),
        is_public=bool(spec.endpoint.public),
        public=list(spec.endpoint.public) or None,
        # Without administrators, the creator is the only identity with access.
        creator_is_admin=not spec.admins,
        key=key[0].get("arn") if key else spec.key,
        logs=[_LOG_NAMES.get(kind, kind.value) for kind in spec.logs.kinds],
        protect=spec.protect,
        support=spec.support.value.upper(),
        weights=[{"name": name, "weight": weight} for name, weight in PACKING_WEIGHTS.items()],
        network={"ipFamily": "ipv4", "serviceIpv4Cidr": services} if services else None,
        after=(*(each.name for each in roles[1:]), "control-plane-logs"),
    )


# ── access ────────────────────────────────────────────────────────────────────────────────────────
def _admins(plan: PlatformPlan, place: AwsLocation) -> list[CloudResource]:
    """An access entry and a policy for each. EKS creates the entries of node groups itself."""
    results: list[CloudResource] = []
    for arn in dict.fromkeys(cluster_spec(plan.spec).admins):
        values = {"slug": _slug(arn), "arn": arn}
        policy = {"partition": place.partition, "policy": ADMIN_POLICY}
        results.append(aws_resource(plan, "admin", **values))
        results.append(aws_resource(plan, "admin-policy", **values, **policy))
    return results


def _slug(arn: str) -> str:
    """Account and name with its path, so that it is unique: `123456789012-role-platform`.

    The index of an ARN that is known only later.
    """
    if is_late_input(arn):
        return arn.rpartition(".")[2].rstrip("}")
    return re.sub(r"[^0-9A-Za-z]+", "-", arn.partition("::")[2]).strip("-")
