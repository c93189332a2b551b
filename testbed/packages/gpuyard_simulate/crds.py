"""CRDs of other projects in the simulated cluster: ClusterPolicy, GPUCluster and the like.

The projects' own CRDs are preferred: the API server then checks every field as in production. They are
next to the programs, or in the folder that GPUYARD_UPSTREAM names.
"""

import os
from pathlib import Path
from typing import Final

from gpuyard_simulate.api import ApiObject, plural_of
from gpuyard_simulate.definitions import read_manifests
from gpuyard_simulate.tools import Tools

CLUSTER_POLICIES: Final = ("gpu-operator", "nvidia.com_clusterpolicies.yaml")
"""The project's folder, and the file in it."""
PROVISIONING_REQUESTS: Final = (
    "cluster-autoscaler",
    "autoscaling.x-k8s.io_provisioningrequests.yaml",
)
STAND_IN_NOTE: Final = "absent (no CRD source), a stand-in accepts any fields"


def find_crd(tools: Tools, project: str, file: str) -> ApiObject | None:
    """The definition as its project ships it; None where no source has it."""
    folders = [tools.share / project / "crds"]
    if upstream := os.environ.get("GPUYARD_UPSTREAM"):
        folders.append(Path(upstream) / "crds" / project)
    results = (crd for folder in folders for crd in read_manifests(folder, file))
    return next(results, None)


def cluster_policy(tools: Tools) -> tuple[ApiObject, str | None]:
    """The GPU Operator's kind, and the message of `sim status` when it is not the operator's own."""
    own = find_crd(tools, *CLUSTER_POLICIES)
    return (own, None) if own else (stand_in(), STAND_IN_NOTE)


def dra_crds(tools: Tools) -> list[ApiObject]:
    """The operator's kinds for DRA: its own, or stand-ins."""
    return [
        find_crd(tools, "gpu-operator", "nvidia.com_gpuclusters.yaml")
        or stand_in("nvidia.com/v1alpha1", "GPUCluster"),
        find_crd(tools, "gpu-operator", "resource.nvidia.com_computedomains.yaml")
        or stand_in("resource.nvidia.com/v1beta1", "ComputeDomain", scope="Namespaced"),
    ]


def provisioning_request_crds(tools: Tools) -> list[ApiObject]:
    """Cluster Autoscaler's kind, which Kueue uses only if it exists at Kueue's start; empty without a source."""
    own = find_crd(tools, *PROVISIONING_REQUESTS)
    return [own] if own else []


def karpenter_crds(tools: Tools) -> list[ApiObject]:
    """Karpenter's kinds, which its chart installs: its own definitions, or stand-ins."""
    return [
        find_crd(tools, "karpenter", f"{api.partition('/')[0]}_{plural}.yaml")
        or stand_in(api, kind, plural=plural)
        for api, kind, plural in (
            ("karpenter.k8s.aws/v1", "EC2NodeClass", "ec2nodeclasses"),
            ("karpenter.sh/v1", "NodePool", "nodepools"),
            ("karpenter.sh/v1", "NodeClaim", "nodeclaims"),
            ("karpenter.sh/v1alpha1", "NodeOverlay", "nodeoverlays"),
        )
    ]


def monitoring_crds(tools: Tools) -> list[ApiObject]:
    """The kinds of prometheus-operator that a platform has objects of: its own definitions, or stand-ins."""
    group = "monitoring.coreos.com"
    return [
        find_crd(tools, "prometheus-operator", f"{group}_{plural}.yaml")
        or stand_in(f"{group}/{version}", kind, "Namespaced", plural)
        for version, kind, plural in (
            ("v1", "ServiceMonitor", "servicemonitors"),
            ("v1", "PrometheusRule", "prometheusrules"),
            ("v1alpha1", "AlertmanagerConfig", "alertmanagerconfigs"),
        )
    ]


def workload_crds() -> list[ApiObject]:
    """Stand-ins for the kinds of services, which charts install elsewhere; no controller acts on their objects."""
    return [
        stand_in("keda.sh/v1alpha1", "ScaledObject", "Namespaced"),
        stand_in("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", "Namespaced"),
        stand_in("serving.kserve.io/v1beta1", "InferenceService", "Namespaced"),
    ]


def stand_in(
    api: str = "nvidia.com/v1",
    kind: str = "ClusterPolicy",
    scope: str = "Cluster",
    plural: str = "",
) -> ApiObject:
    """A minimal definition that accepts any fields, so that a platform can be deployed."""
    group, _, served = api.partition("/")
    singular = kind.lower()
    plural = plural or plural_of(kind)
    anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {
        "name": served,
        "served": True,
        "storage": True,
        "subresources": {"status": {}},
        "schema": {
            "openAPIV3Schema": {
                "type": "object",
                "properties": {"spec": anything, "status": anything},
            }
        },
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {
            "name": f"{plural}.{group}",
            "annotations": {"sim.gpuyard.dev/stand-in": "the operator's own CRD is not available"},
        },
        "spec": {
            "group": group,
            "scope": scope,
            "names": {
                "kind": kind,
                "listKind": f"{kind}List",
                "plural": plural,
                "singular": singular,
            },
            "versions": [version],
        },
    }
