"""Texts for the operator that a ConfigMap holds: the device plugin's configuration, layouts of MIG."""

from collections.abc import Mapping
from typing import Any

from gpuyard.manifests.placeholders import is_placeholder
from gpuyard.rules.rule import UNKNOWN, Stack, mapping, text


def texts_of(config: Mapping[str, Any], stack: Stack) -> Mapping[Any, Any]:
    """What is in the ConfigMap that a `config` of the operator names: beside the name, or of one in view."""
    name = text(config.get("name"))
    return mapping(config.get("data")) or next(
        (mapping(c.properties.get("data")) for c in stack.named(name, "ConfigMap")), {}
    )


def is_undefined_config_map(config: Mapping[str, Any], stack: Stack) -> bool:
    """Whether values of the operator's chart have the text of a ConfigMap that is not made of it."""
    name, create = text(config.get("name")), config.get("create")
    if (
        not name
        or is_placeholder(name)
        or not mapping(config.get("data"))
        or create is True
        or create is UNKNOWN
    ):
        return False
    return not stack.named(name, "ConfigMap")
