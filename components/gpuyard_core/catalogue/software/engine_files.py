"""Files that Pulumi writes: how to recognize a state, a preview and a secret."""

from collections.abc import Mapping
from typing import Any

SECRET_KEY = "4dabf18193072939515e22adb298388d"  # noqa: S105  a marker, not a secret
"""The key that marks a mapping as a secret (sdk/go/common/resource/sig/sig.go)."""


def is_pulumi_preview(value: Any) -> bool:
    """Whether this is the output of `pulumi preview --json`."""
    return isinstance(value, Mapping) and isinstance(value.get("steps"), list)


def is_stack_export(value: Any) -> bool:
    """Whether this is the output of `pulumi stack export`."""
    deployment = value.get("deployment") if isinstance(value, Mapping) else None
    return isinstance(deployment, Mapping) and isinstance(value.get("version"), int)
