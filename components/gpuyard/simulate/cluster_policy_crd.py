"""The kind ClusterPolicy of the GPU Operator in the simulated cluster.

Best is the operator's own CRD: the API server then checks every field as in production. Where no source
serves it, a stand-in takes any fields, so that a platform can still be deployed; `sim status` says
which of the two it is.
"""

import os
from pathlib import Path
from typing import Final

from gpuyard.simulate.api import ApiObject
from gpuyard.simulate.kueue.manager import read_manifests
from gpuyard.simulate.tools import Tools

FILE: Final = "nvidia.com_clusterpolicies.yaml"
STAND_IN_NOTE: Final = "absent (no CRD source), a stand-in accepts any fields"


def find_crd(tools: Tools) -> tuple[ApiObject, str | None]:
    """The CRD, and what to tell about it when it is not the operator's own."""
    folders = [tools.share / "gpu-operator" / "crds"]
    if upstream := os.environ.get("GPUYARD_UPSTREAM"):
        folders.append(Path(upstream) / "crds" / "gpu-operator")
    for folder in folders:
        if (folder / FILE).is_file():
            return next(
                crd
                for crd in read_manifests(folder)
                if crd["spec"]["names"]["kind"] == "ClusterPolicy"
            ), None
    return stand_in(), STAND_IN_NOTE


def stand_in() -> ApiObject:
    """The least that lets a ClusterPolicy be stored."""
    anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {
        "name": "v1",
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
            "name": "clusterpolicies.nvidia.com",
            "annotations": {"sim.gpuyard.dev/stand-in": "the operator's own CRD could not be had"},
        },
        "spec": {
            "group": "nvidia.com",
            "scope": "Cluster",
            "names": {
                "kind": "ClusterPolicy",
                "listKind": "ClusterPolicyList",
                "plural": "clusterpolicies",
                "singular": "clusterpolicy",
            },
            "versions": [version],
        },
    }
