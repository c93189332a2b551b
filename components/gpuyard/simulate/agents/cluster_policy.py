"""The fake operator: says of the ClusterPolicy that it is ready.

Ready means that the ConfigMaps it names exist: a real operand with a missing one waits, and the policy
with it.
"""

from collections.abc import Mapping
from typing import Any, Final

from gpuyard.simulate.agents.gpu_operator import NAMESPACE, POLICY, Operator

KIND_PATH: Final = "/apis/nvidia.com/v1/clusterpolicies"


def status(operator: Operator) -> dict[str, Any]:
    """The status of the policy of that name; the operator ignores any other."""
    waiting = [
        source.name
        for source in (operator.mig, operator.plugin)
        if source.named and source.data is None
    ]
    return {"namespace": NAMESPACE, "state": "notReady" if waiting else "ready"}


def needs_update(policy: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    """Whether the status in the cluster says something else."""
    current = policy.get("status") or {}
    return policy["metadata"]["name"] == POLICY and any(
        current.get(key) != value for key, value in wanted.items()
    )
