"""Add-ons of an EKS cluster: versions by Kubernetes minor, and roles for those that call AWS."""

from collections.abc import Mapping
from typing import Any

from gpuyard.plan.records import PlatformPlan
from gpuyard.render.aws.place import AwsLocation, aws_resource
from gpuyard.render.aws.roles import addon_role
from gpuyard.render.cloud.graph import CloudResource, Json
from gpuyard_core.catalogue.cluster.eks import EKS_ADDONS, S3_CSI, VPC_CNI, EksAddon

_SETTINGS: Mapping[str, Mapping[str, Any]] = {
    # Prefix delegation, so that a node has as many pods as the kubelet allows.
    VPC_CNI.name: {
        "enableNetworkPolicy": "true",
        "env": {"ENABLE_PREFIX_DELEGATION": "true", "WARM_PREFIX_TARGET": "1"},
    },
    # Nodes with GPUs are tainted, and the driver mounts where pods are.
    S3_CSI.name: {"node": {"tolerateAllTaints": True}},
}


def addons_of(plan: PlatformPlan) -> tuple[EksAddon, ...]:
    """The add-ons of every cluster, and the CSI drivers of the configured storage."""
    kinds = {"", *plan.storage.kinds}
    return tuple(addon for addon in EKS_ADDONS.values() if addon.dataset in kinds)


def addon_parts(
    plan: PlatformPlan, place: AwsLocation, *, with_nodes: bool, after: tuple[str, ...] = ()
) -> list[CloudResource]:
    """The add-ons that wait for nodes, or those that nodes wait for, with their roles."""
    results: list[CloudResource] = []
    for addon in addons_of(plan):
        if addon.needs_nodes is with_nodes:
            roles, settings = addon_role(plan, place, addon), _SETTINGS.get(addon.name)
            account = addon.service_account
            identity = [
                {"roleArn": each.get("arn"), "serviceAccount": account} for each in roles[:1]
            ]
            made = aws_resource(
                plan,
                "addon",
                addon=addon.name,
                version=addon.versions.get(plan.kubernetes),
                settings=Json(settings) if settings else None,
                identity=identity or None,
                after=(*(each.name for each in roles[1:]), *after),
            )
            results += [*roles, made]
    return results
