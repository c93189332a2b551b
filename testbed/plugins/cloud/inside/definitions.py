"""Kinds that a cloud's control plane serves besides those of Kubernetes: classes, networks and monitoring of GKE.

GKE serves ComputeClasses in every cluster, networks in clusters with multi-networking, whose `spec` accepts any fields,
and the kinds of the managed Prometheus (`monitoring/`) in clusters with managed collection.
"""

from pathlib import Path
from typing import Any

import yaml

from gpuyard_simulate.api import Api
from testbed.plugins.cloud.inside.classes.definition import definition
from testbed.plugins.cloud.service.ties import Resource

MONITORING = Path(__file__).parent / "monitoring"
_GROUP = "networking.gke.io"
_KINDS = {"GKENetworkParamSet": "gkenetworkparamsets", "Network": "networks"}


def serve(api: Api, cluster: Resource) -> None:
    """Serve the kinds that a new cluster's fields enable."""
    if cluster.kind == "gcp:container/cluster:Cluster":
        api.apply(definition())
    if cluster.inputs.get("enableMultiNetworking"):
        for kind, plural in _KINDS.items():
            api.apply(_definition(kind, plural))
    monitoring = cluster.inputs.get("monitoringConfig") or {}
    if monitoring.get("managedPrometheus", {}).get("enabled"):
        for path in sorted(MONITORING.glob("*.yaml")):
            api.apply(yaml.safe_load(path.read_text(encoding="utf-8")))


def _definition(kind: str, plural: str) -> dict[str, Any]:
    anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {
            "openAPIV3Schema": {
                "type": "object",
                "properties": {"spec": anything, "status": anything},
            }
        },
        "subresources": {"status": {}},
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {
            "name": f"{plural}.{_GROUP}",
            "annotations": {"api-approved.kubernetes.io": "unapproved, a fake"},
        },
        "spec": {
            "group": _GROUP,
            "scope": "Cluster",
            "names": {"kind": kind, "plural": plural, "singular": kind.lower()},
            "versions": [version],
        },
    }
