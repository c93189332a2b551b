"""Defaults of app-template for options of pods and containers."""

from collections.abc import Mapping
from typing import Any

from gpuyard_core.findings import Path
from gpuyard_core.manifests.fields import mapping
from gpuyard_lint.languages.hcl_values import merge_overlays

Options = Mapping[str, tuple[Any, Path]]
"""By name: the value, and its path in the values."""
_NOT_OF_PODS: tuple[Any, ...] = (None, "", [])
_NOT_OF_CONTAINERS: tuple[Any, ...] = (*_NOT_OF_PODS, {}, False)
"""Values that the chart treats as unset; for pods an empty mapping is set, and so is false."""
_MERGED = "merge"


def enabled_parts(value: Any) -> dict[str, Mapping[str, Any]]:
    """The enabled parts of a mapping by name: each is unless it is disabled."""
    parts = ((str(name), each) for name, each in mapping(value).items())
    return {
        name: each
        for name, each in parts
        if isinstance(each, Mapping) and each.get("enabled", True) is True
    }


def pod_options(values: Mapping[str, Any], controller: str) -> Options:
    """Options of a controller's pod, merged over those of all."""
    is_merged = values.get("defaultPodOptionsStrategy") == _MERGED
    usual = mapping(values, "defaultPodOptions")
    own: Path = ("controllers", controller, "pod")
    value = mapping(values, "controllers", controller, "pod")
    result = _merged_options(
        value, own, usual, ("defaultPodOptions",), _NOT_OF_PODS, merged=is_merged
    )
    for name in ("labels", "annotations"):  # these two are always set together
        both = {**mapping(usual, name), **mapping(value, name)}
        where = own if mapping(value, name) else ("defaultPodOptions",)
        result[name] = both, (*where, name)
    return result


def container_options(controller: Mapping[str, Any], where: Path, field: str, name: str) -> Options:
    """Options of one container, merged over those of all containers of its controller."""
    is_merged = controller.get("defaultContainerOptionsStrategy") == _MERGED
    first = field == "initContainers"
    apart = first and controller.get("applyDefaultContainerOptionsToInitContainers") is False
    usual = {} if apart else mapping(controller, "defaultContainerOptions")
    value = mapping(controller, field, name)
    below = (*where, "defaultContainerOptions")
    return _merged_options(
        value, (*where, field, name), usual, below, _NOT_OF_CONTAINERS, merged=is_merged
    )


def _merged_options(
    options: Mapping[str, Any],
    own: Path,
    usual: Mapping[str, Any],
    below: Path,
    nothing: tuple[Any, ...],
    *,
    merged: bool,
) -> dict[str, tuple[Any, Path]]:
    results: dict[str, tuple[Any, Path]] = {
        name: (value, (*own, name)) for name, value in options.items() if value not in nothing
    }
    for name, value in usual.items():
        here, where = results.get(name, (value, (*below, name)))
        if merged and isinstance(here, Mapping) and isinstance(value, Mapping):
            here = merge_overlays([value, here], deep=True)
        results[name] = here, where
    return results
