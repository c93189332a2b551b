"""The fake operator: sets the ClusterPolicy's status, and creates the runtime class that it names.

Ready means that the ConfigMaps it names exist and that no pod of it waits on a node: for a driver, for a
configuration, for the MPS daemon. A real policy waits for its DaemonSets in the same way.
"""

from collections.abc import Collection, Mapping
from typing import Any, Final

from gpuyard_simulate.agents.gpu_operator import NAMESPACE, POLICY, Operator

KIND_PATH: Final = "/apis/nvidia.com/v1/clusterpolicies"


def status(operator: Operator, nodes: Collection[str] = ()) -> dict[str, Any]:
    """The status of the policy with that name; the operator ignores any other. `nodes` are those that wait."""
    state = "notReady" if nodes or _missing(operator) else "ready"
    return {"namespace": NAMESPACE, "state": state}


def _missing(operator: Operator) -> list[str]:
    return [
        source.name
        for source in (operator.mig, operator.plugin)
        if source.named and source.data is None
    ]


def needs_update(policy: Mapping[str, Any], expected: Mapping[str, Any]) -> bool:
    """Whether the status in the cluster differs."""
    current = policy.get("status") or {}
    return policy["metadata"]["name"] == POLICY and any(
        current.get(key) != value for key, value in expected.items()
    )


def runtime_class(policy: Mapping[str, Any]) -> dict[str, Any]:
    """The runtime class for pods that see GPUs without requesting them; the API server rejects pods without it."""
    name = (policy["spec"].get("operator") or {}).get("runtimeClass") or "nvidia"
    owner = {
        "apiVersion": policy["apiVersion"],
        "kind": policy["kind"],
        "name": policy["metadata"]["name"],
        "uid": policy["metadata"]["uid"],
    }
    return {
        "apiVersion": "node.k8s.io/v1",
        "kind": "RuntimeClass",
        "metadata": {"name": name, "ownerReferences": [owner]},
        "handler": name,
    }
