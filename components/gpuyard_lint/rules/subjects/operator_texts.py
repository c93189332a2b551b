"""Texts in ConfigMaps for the operator: device-plugin configurations and MIG layouts."""

from collections.abc import Mapping
from typing import Any

from gpuyard_core.manifests.fields import mapping, text
from gpuyard_core.manifests.placeholders import is_placeholder
from gpuyard_lint.rules.rule import UNKNOWN, Stack


def texts_of(config: Mapping[str, Any], stack: Stack) -> Mapping[Any, Any]:
    """The data of the ConfigMap that a `config` of the operator names: inline, or in the input."""
    name = text(config, "name")
    return mapping(config, "data") or next(
        (mapping(c.properties, "data") for c in stack.resources_named(name, "ConfigMap")), {}
    )


def is_undefined_config_map(config: Mapping[str, Any], stack: Stack) -> bool:
    """Whether chart values of the operator contain the data of a ConfigMap that the chart does not create."""
    name, create = text(config, "name"), config.get("create")
    if (
        not name
        or is_placeholder(name)
        or not mapping(config, "data")
        or create is True
        or create is UNKNOWN
    ):
        return False
    return not stack.resources_named(name, "ConfigMap")
