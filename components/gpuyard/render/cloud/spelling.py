"""Cloud-specific forms: names within a length limit, and effects of taints."""

import hashlib

EFFECTS = {
    "NoSchedule": "NO_SCHEDULE",
    "PreferNoSchedule": "PREFER_NO_SCHEDULE",
    "NoExecute": "NO_EXECUTE",
}
"""By Kubernetes' name of a taint effect, the name in the APIs of both clouds."""
NAME_LENGTH = 63
"""Limit of most names, in both clouds."""
_DIGITS = 6


def fit_name(name: str, most: int = NAME_LENGTH) -> str:
    """The name, or as much of it as fits, with a digest of the full name."""
    if len(name) <= most:
        return name
    return f"{name[: most - _DIGITS - 1].rstrip('-')}-{digest(name)}"


def digest(text: str) -> str:
    """A digest of six digits that distinguishes texts which do not fit into a name."""
    return hashlib.sha256(text.encode()).hexdigest()[:_DIGITS]
