"""Driver upgrades of the operator: fields of its chart and of the resulting ClusterPolicy."""

from typing import Any

from gpuyard_core.names import PODSET_LABEL

CHART_UPGRADES: dict[str, Any] = {
    "autoUpgrade": True,
    "maxParallelUpgrades": 1,
    "maxUnavailable": "25%",
    "waitForCompletion": {"podSelector": PODSET_LABEL, "timeoutSeconds": 0},
    "gpuPodDeletion": {"force": False, "timeoutSeconds": 300, "deleteEmptyDir": False},
    "drain": {
        "enable": False,
        "force": False,
        "podSelector": "",
        "timeoutSeconds": 300,
        "deleteEmptyDir": False,
    },
}
"""A new driver is installed on one node at a time, cordoned, when its last queued job has ended; a
pod is not deleted if it has no controller or has data on the node."""


def policy_upgrades() -> dict[str, Any]:
    """The same fields as the chart writes them into the ClusterPolicy."""
    return {_policy_word(word): value for word, value in CHART_UPGRADES.items()}


def _policy_word(word: str) -> str:
    return "podDeletion" if word == "gpuPodDeletion" else word
