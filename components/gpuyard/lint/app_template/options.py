"""What app-template fills in where a part says nothing itself: options of all pods, and of all containers."""

from collections.abc import Mapping
from typing import Any

from gpuyard.findings import Path
from gpuyard.lint.languages.hcl_values import overlaid
from gpuyard.manifests.fields import mapping

Options = Mapping[str, tuple[Any, Path]]
"""By name: what is said, and where in the values it stands."""
_NOT_OF_PODS: tuple[Any, ...] = (None, "", [])
_NOT_OF_CONTAINERS: tuple[Any, ...] = (*_NOT_OF_PODS, {}, False)
"""What the chart takes for nothing said; of a pod an empty mapping is said, and so is false."""
_MERGED = "merge"


def there(given: Any) -> dict[str, Mapping[str, Any]]:
    """The parts of a mapping by name that are switched on: each is unless it says otherwise."""
    parts = ((str(name), each) for name, each in mapping(given).items())
    return {
        name: each
        for name, each in parts
        if isinstance(each, Mapping) and each.get("enabled", True) is True
    }


def of_pod(values: Mapping[str, Any], controller: str) -> Options:
    """Options of a controller's pod, over those of all."""
    merged = values.get("defaultPodOptionsStrategy") == _MERGED
    usual = mapping(values, "defaultPodOptions")
    own: Path = ("controllers", controller, "pod")
    given = mapping(values, "controllers", controller, "pod")
    found = _laid(given, own, usual, ("defaultPodOptions",), _NOT_OF_PODS, merged=merged)
    for name in ("labels", "annotations"):  # these always go together
        both = {**mapping(usual, name), **mapping(given, name)}
        where = own if mapping(given, name) else ("defaultPodOptions",)
        found[name] = both, (*where, name)
    return found


def of_container(controller: Mapping[str, Any], where: Path, field: str, name: str) -> Options:
    """Options of one container, over those of all containers of its controller."""
    merged = controller.get("defaultContainerOptionsStrategy") == _MERGED
    first = field == "initContainers"
    apart = first and controller.get("applyDefaultContainerOptionsToInitContainers") is False
    usual = {} if apart else mapping(controller, "defaultContainerOptions")
    given = mapping(controller, field, name)
    below = (*where, "defaultContainerOptions")
    return _laid(given, (*where, field, name), usual, below, _NOT_OF_CONTAINERS, merged=merged)


def _laid(
    given: Mapping[str, Any],
    own: Path,
    usual: Mapping[str, Any],
    below: Path,
    nothing: tuple[Any, ...],
    *,
    merged: bool,
) -> dict[str, tuple[Any, Path]]:
    found: dict[str, tuple[Any, Path]] = {
        name: (value, (*own, name)) for name, value in given.items() if value not in nothing
    }
    for name, value in usual.items():
        here, where = found.get(name, (value, (*below, name)))
        if merged and isinstance(here, Mapping) and isinstance(value, Mapping):
            here = overlaid([value, here], deep=True)
        found[name] = here, where
    return found
