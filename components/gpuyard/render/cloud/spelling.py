"""How clouds spell what is said elsewhere: names that fit into a limit, and effects of taints."""

import hashlib

EFFECTS = {
    "NoSchedule": "NO_SCHEDULE",
    "PreferNoSchedule": "PREFER_NO_SCHEDULE",
    "NoExecute": "NO_EXECUTE",
}
"""By Kubernetes' word for the effect of a taint, that of the APIs of both clouds."""
NAME_LENGTH = 63
"""Of most names, in both clouds."""
_DIGITS = 6


def fit(name: str, most: int = NAME_LENGTH) -> str:
    """The name, or as much of it as there is room for, with a digest of the whole."""
    if len(name) <= most:
        return name
    return f"{name[: most - _DIGITS - 1].rstrip('-')}-{digest(name)}"


def digest(text: str) -> str:
    """Six digits that tell texts apart, where a name has no room for them."""
    return hashlib.sha256(text.encode()).hexdigest()[:_DIGITS]
