"""Files that Pulumi's engine writes: how a state and a preview are told, and how it marks a secret."""

from collections.abc import Mapping
from typing import Any

SECRET_KEY = "4dabf18193072939515e22adb298388d"  # noqa: S105  a marker, not a secret
"""The key by which a mapping says that it stands for a secret (sdk/go/common/resource/sig/sig.go)."""


def is_preview(value: Any) -> bool:
    """True for the output of `pulumi preview --json`."""
    return isinstance(value, Mapping) and isinstance(value.get("steps"), list)


def is_state(value: Any) -> bool:
    """True for the output of `pulumi stack export`."""
    deployment = value.get("deployment") if isinstance(value, Mapping) else None
    return isinstance(deployment, Mapping) and isinstance(value.get("version"), int)
