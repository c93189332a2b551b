"""How the operator exchanges drivers: by which words of its chart, and of the ClusterPolicy made of them."""

from typing import Any

from gpuyard.names import PODSET_LABEL

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
"""Another driver reaches one node at a time, closed to new pods, when its last job of a queue has ended; no
pod is deleted that nobody makes anew, or that has data on the node."""


def policy_upgrades() -> dict[str, Any]:
    """The same as the chart writes it into the ClusterPolicy."""
    return {_policy_word(word): value for word, value in CHART_UPGRADES.items()}


def _policy_word(word: str) -> str:
    return "podDeletion" if word == "gpuPodDeletion" else word
