"""The kind ProvisioningRequest in the simulated cluster: Kueue asks only when it was there first."""

import os
from pathlib import Path
from typing import Final

from gpuyard.simulate.api import ApiObject
from gpuyard.simulate.kueue.manager import read_manifests
from gpuyard.simulate.tools import Tools

FILE: Final = "autoscaling.x-k8s.io_provisioningrequests.yaml"


def find_crd(tools: Tools) -> list[ApiObject]:
    """Cluster Autoscaler's own CRD, from a module that Kueue is built with; nothing where it is absent."""
    folders = [tools.share / "cluster-autoscaler" / "crds"]
    if upstream := os.environ.get("GPUYARD_UPSTREAM"):
        folders.append(Path(upstream) / "crds" / "cluster-autoscaler")
    folder = next((f for f in folders if (f / FILE).is_file()), None)
    return read_manifests(folder) if folder else []
