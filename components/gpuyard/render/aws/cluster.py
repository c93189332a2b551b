"""An EKS cluster: its key, logs, control plane and access entries; or an existing cluster."""

import re

from gpuyard.plan.cluster.ranges import cluster_ranges, cluster_spec
from gpuyard.plan.records import PlatformPlan
from gpuyard.render.aws.network import NetworkParts
from gpuyard.render.aws.place import AwsLocation, tags_of
from gpuyard.render.cloud.graph import CloudCall, CloudResource, Joined
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
    key, logs = _key(plan), _logs(plan)
    cluster = _cluster(plan, network, roles, key[0] if key else None, logs)
    return [*key, logs, cluster, *_admins(plan, place, cluster)]


# ── prerequisites ─────────────────────────────────────────────────────────────────────────────────
def _key(plan: PlatformPlan) -> list[CloudResource]:
    """A dedicated key unless one is given: disabling it makes all secrets unreadable."""
    if cluster_spec(plan.spec).key:
        return []
    protect = cluster_spec(plan.spec).protect
    key = CloudResource(
        kind="aws:kms/key:Key",
        name="secrets-key",
        inputs={
            "description": f"Secrets of the EKS cluster {plan.name}",
            "enableKeyRotation": True,
            "deletionWindowInDays": 30,
            "tags": tags_of(plan),
        },
        outputs=("arn",),
        protect=protect,
    )
    alias = CloudResource(
        kind="aws:kms/alias:Alias",
        name="secrets-key-alias",
        inputs={"name": f"alias/gpuyard/{plan.name}/secrets", "targetKeyId": key.get("id")},
        delete_first=True,
    )
    return [key, alias]


def _logs(plan: PlatformPlan) -> CloudResource:
    """If EKS created it, it would keep logs forever."""
    return CloudResource(
        kind="aws:cloudwatch/logGroup:LogGroup",
        name="control-plane-logs",
        inputs={
            "name": f"/aws/eks/{plan.name}/cluster",
            "retentionInDays": log_retention_days(cluster_spec(plan.spec).logs.retention_days),
            "tags": tags_of(plan),
        },
        delete_first=True,
    )


# ── the control plane ─────────────────────────────────────────────────────────────────────────────
def _cluster(
    plan: PlatformPlan,
    network: NetworkParts,
    roles: list[CloudResource],
    key: CloudResource | None,
    logs: CloudResource,
) -> CloudResource:
    spec = cluster_spec(plan.spec)
    public = list(spec.endpoint.public)
    endpoint = {"endpointPrivateAccess": True, "endpointPublicAccess": bool(public)}
    services = cluster_ranges(plan.spec).get("services")
    inputs = {
        "name": plan.name,
        "version": plan.kubernetes,
        "roleArn": spec.roles.cluster or roles[0].get("arn"),
        "vpcConfig": {
            "subnetIds": list(network.control_plane_subnets),
            **endpoint,
            **({"publicAccessCidrs": public} if public else {}),
        },
        "accessConfig": {
            "authenticationMode": "API",
            # Without administrators, the creator is the only identity with access.
            "bootstrapClusterCreatorAdminPermissions": not spec.admins,
        },
        "bootstrapSelfManagedAddons": False,
        "encryptionConfig": {
            "provider": {"keyArn": key.get("arn") if key else spec.key},
            "resources": ["secrets"],
        },
        "enabledClusterLogTypes": [_LOG_NAMES.get(kind, kind.value) for kind in spec.logs.kinds],
        "deletionProtection": spec.protect,
        "zonalShiftConfig": {"enabled": True},
        "upgradePolicy": {"supportType": spec.support.value.upper()},
        "kubeSchedulerConfig": _packing(),
        "tags": tags_of(plan),
    }
    if services:
        inputs["kubernetesNetworkConfig"] = {"ipFamily": "ipv4", "serviceIpv4Cidr": services}
    return CloudResource(
        kind="aws:eks/cluster:Cluster",
        name="cluster",
        inputs=inputs,
        outputs=("endpoint", "certificateAuthority", "kubernetesNetworkConfig"),
        after=(*(each.name for each in roles[1:]), logs.name),
        protect=spec.protect,
        # They apply at creation only, and an adopted cluster does not return them.
        ignores=(
            "accessConfig.bootstrapClusterCreatorAdminPermissions",
            "bootstrapSelfManagedAddons",
        ),
        delete_first=True,
    )


def _packing() -> dict[str, object]:
    """The scheduler packs nodes, so that jobs that need all GPUs of a node find empty ones."""
    resources = [{"name": name, "weight": weight} for name, weight in PACKING_WEIGHTS.items()]
    strategy = {"type": "MostAllocated", "resources": resources}
    return {"nodeResourcesFit": {"scoringStrategy": strategy}}


# ── access ────────────────────────────────────────────────────────────────────────────────────────
def _admins(plan: PlatformPlan, place: AwsLocation, cluster: CloudResource) -> list[CloudResource]:
    """An access entry and a policy for each. EKS creates the entries of node groups itself."""
    results: list[CloudResource] = []
    for arn in dict.fromkeys(cluster_spec(plan.spec).admins):
        slug = _slug(arn)
        who = {"clusterName": cluster.get("name"), "principalArn": arn}
        entry = CloudResource(
            kind="aws:eks/accessEntry:AccessEntry",
            name=f"admin-{slug}",
            inputs={**who, "type": "STANDARD", "tags": tags_of(plan)},
        )
        policy = CloudResource(
            kind="aws:eks/accessPolicyAssociation:AccessPolicyAssociation",
            name=f"admin-{slug}-policy",
            inputs={
                **who,
                "policyArn": Joined(
                    "arn:", place.partition, f":eks::aws:cluster-access-policy/{ADMIN_POLICY}"
                ),
                "accessScope": {"type": "cluster"},
            },
            after=(entry.name,),
        )
        results += [entry, policy]
    return results


def _slug(arn: str) -> str:
    """Account and name with its path, so that it is unique: `123456789012-role-platform`.

    The index of an ARN that is known only later.
    """
    if is_late_input(arn):
        return arn.rpartition(".")[2].rstrip("}")
    return re.sub(r"[^0-9A-Za-z]+", "-", arn.partition("::")[2]).strip("-")
