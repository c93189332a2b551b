"""Names of what is bought at Google, and the labels by which a bill finds its owner."""

import hashlib
import re
from collections.abc import Mapping

from gpuyard.plan.records import PlatformPlan

GCE_LENGTH = 63
GKE_LENGTH = 40
"""Of clusters and node pools."""
ACCOUNT_LENGTH = 30
_LABEL_LENGTH = 63
_DIGITS = 6


def fit(name: str, most: int = GCE_LENGTH) -> str:
    """The name, or as much of it as there is room for, with a digest of the whole."""
    if len(name) <= most:
        return name
    return f"{name[: most - _DIGITS - 1].rstrip('-')}-{digest(name)}"


def digest(text: str) -> str:
    """Six digits that tell texts apart, where a name has no room for them."""
    return hashlib.sha256(text.encode()).hexdigest()[:_DIGITS]


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
