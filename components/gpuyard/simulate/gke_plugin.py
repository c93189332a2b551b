"""What GKE's own device plugin refuses on nodes whose GPUs it shares, by the labels that GKE writes there."""

from collections.abc import Iterable, Mapping
from typing import Any

from gpuyard.catalogue.gke.sharing import CLIENTS_LABEL
from gpuyard.manifests.quantities import quantity
from gpuyard.simulate.agents.device_plugin import GPU


def refuses(
    labels: Mapping[str, str],
    allocatable: Mapping[str, Any],
    containers: Iterable[Mapping[str, Any]],
) -> str:
    """Why it hands a container no devices, as the kubelet words it; "" when it does.

    Of one GPU, or one slice, a container may have several shares; where there are more, they could lie apart
    (container-engine-accelerators, pkg/gpu/nvidia/gpusharing).
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
