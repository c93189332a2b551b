"""Requests that GKE's device plugin rejects on nodes with shared GPUs, by the labels that GKE writes there."""

from collections.abc import Iterable, Mapping
from typing import Any

from gpuyard_core.catalogue.gke.sharing import CLIENTS_LABEL
from gpuyard_core.manifests.quantities import quantity
from gpuyard_simulate.agents.device_plugin import GPU


def pod_rejection_reason(
    labels: Mapping[str, str],
    allocatable: Mapping[str, Any],
    containers: Iterable[Mapping[str, Any]],
) -> str:
    """Why it rejects a container, in the kubelet's words; "" when it does not.

    A container may have several shares of one GPU or one slice; on nodes with more, the shares could belong to
    different GPUs (container-engine-accelerators, pkg/gpu/nvidia/gpusharing).
    """
    clients = int(labels.get(CLIENTS_LABEL, 0))
    shares = quantity(allocatable.get(GPU)) or 0
    if not clients or shares <= clients:
        return ""
    for container in containers:
        limits = (container.get("resources") or {}).get("limits") or {}
        if (quantity(limits.get(GPU)) or 0) > 1:
            return (
                "Pod was rejected: Allocate failed due to rpc error: code = Unknown desc = invalid request"
                f" for sharing GPU, at most 1 {GPU} can be requested on multi-GPU nodes"
            )
    return ""
