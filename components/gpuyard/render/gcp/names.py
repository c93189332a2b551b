"""Names of what is bought at Google, and the labels by which a bill finds its owner."""

import re
from collections.abc import Mapping

from gpuyard.plan.records import PlatformPlan

GKE_LENGTH = 40
"""Of clusters and node pools."""
ACCOUNT_LENGTH = 30
_LABEL_LENGTH = 63


def resource_labels(plan: PlatformPlan, pool: str = "") -> dict[str, str]:
    """What every resource is labelled with: the stack file's tags, in Google's letters, and ours."""
    ours = {"gpuyard-platform": plan.name} | ({"gpuyard-pool": pool} if pool else {})
    return dict(sorted((_in_their_letters(plan.spec.tags) | ours).items()))


def _in_their_letters(tags: Mapping[str, str]) -> dict[str, str]:
    """Small letters, digits, dashes and underscores; a key begins with a letter."""
    return {
        _letters(key if key[:1].isalpha() else f"tag-{key}"): _letters(value)
        for key, value in tags.items()
    }


def _letters(text: str) -> str:
    return re.sub(r"[^a-z0-9_-]", "-", text.lower())[:_LABEL_LENGTH]
