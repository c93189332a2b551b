"""MIG layouts as mig-parted reads them, and the ConfigMaps in which the operator finds configurations.

mig-parted rejects the whole file for one unknown field.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from gpuyard_core.findings import Path, Severity
from gpuyard_core.manifests.fields import at, items, mapping, text
from gpuyard_core.manifests.placeholders import is_entirely_placeholder, is_placeholder
from gpuyard_core.suggestions import nearest_name
from gpuyard_lint.rules.rule import UNKNOWN, PartlyKnown, Resource, Stack, Violation
from gpuyard_lint.rules.subjects.components import CLUSTER_POLICY, OPERATOR_VALUES


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


MIG_PARTED = "config:mig-parted"
_VERSION = "v1"
_DEVICES, _ENABLED, _SLICES = "devices", "mig-enabled", "mig-devices"
_REQUIRED = (_DEVICES, _ENABLED)
_FIELDS = (*_REQUIRED, _SLICES, "device-filter")
_ALL = "all"
_FILE = "config.yaml"
"""The key of the ConfigMap that the MIG manager mounts."""
_DISABLED = "all-disabled"
"""The default label value of the operator's chart for nodes without a layout label."""
_REFUSED = "mig-parted rejects the whole file, and no node gets any of its layouts"


def config_violations(config: Resource) -> Iterator[Violation]:
    """Errors of mig-parted in a file of layouts."""
    version = config.properties.get("version")
    if version not in {_VERSION, UNKNOWN}:
        found_version = f"version {version}" if version is not None else "no version"
        yield Violation(
            ("version",), f"{found_version}: {_REFUSED}", f"write version: {_VERSION}", config
        )
    for name, groups in mapping(config.properties, "mig-configs").items():
        for index, group in enumerate(items(groups)):
            for path, problem, fix in _group(mapping(group)):
                where = ("mig-configs", name, index, *path)
                yield Violation(where, f"{problem}: {_REFUSED}", fix, config)


def _group(group: Mapping[str, Any]) -> Iterator[tuple[Path, str, str]]:
    unexpected = [str(key) for key in group if key not in _FIELDS]
    for key in unexpected:
        meant = nearest_name(key, _FIELDS)
        fix = f"write {meant}" if meant else f"write {', '.join(_FIELDS)} only"
        yield (key,), f"{key} is not a field of a layout", fix
    if unexpected or isinstance(group, PartlyKnown):
        return
    for key in _REQUIRED:
        if key not in group:
            yield (), f"{key} is missing", f"write {key}"
    devices, enabled, slices = (group.get(key) for key in (_DEVICES, _ENABLED, _SLICES))
    if isinstance(devices, str) and devices != _ALL:
        yield (_DEVICES,), f"{devices!r} selects no GPUs", f"write {_ALL}, or a list of indexes"
    if enabled is True and slices is None:
        yield (), f"{_ENABLED} is true without {_SLICES}", f"write {_SLICES}"
    if enabled is False and slices and slices is not UNKNOWN:
        problem = f"{_SLICES} is set with {_ENABLED}: false"
        yield (_SLICES,), problem, f"write {_ENABLED}: true, or omit {_SLICES}"


def has_partitions(config: Resource) -> bool:
    """Whether any layout partitions a GPU."""
    groups = (g for each in mapping(config.properties, "mig-configs").values() for g in items(each))
    return any(mapping(group).get(_ENABLED) is not False for group in groups)


def unread_layouts(stack: Stack) -> Iterator[Violation]:
    """Custom layouts that the MIG manager does not find."""
    for operator in stack.resources_of_kinds(OPERATOR_VALUES, CLUSTER_POLICY):
        yield from _of_operator(operator, stack)


def _of_operator(operator: Resource, stack: Stack) -> Iterator[Violation]:
    by_chart = operator.group_kind == OPERATOR_VALUES
    path: Path = (*(() if by_chart else ("spec",)), "migManager", "config")
    config = mapping(at(operator.properties, *path))
    name = text(config, "name")
    config_texts = texts_of(config, stack)
    if not name or not config_texts or isinstance(config_texts, PartlyKnown):
        return
    if by_chart and is_undefined_config_map(config, stack):
        problem = (
            f"config.data without create: true creates no ConfigMap: no file here defines {name}"
        )
        yield Violation((*path, "create"), problem, "set migManager.config.create: true", operator)
        return
    if _FILE not in config_texts:
        problem = (
            f"the MIG manager reads key {_FILE} of {name}, which does not exist: it finds no layout"
        )
        yield Violation((*path, "name"), problem, f"rename the key to {_FILE}", operator)
        return
    default = text(config.get("default", _DISABLED if by_chart else ""))
    files = stack.resources_of_kinds(MIG_PARTED)
    layouts = mapping(files[0].properties.get("mig-configs")) if len(files) == 1 else {}
    partly = is_placeholder(default) and not is_entirely_placeholder(default)  # all-${LAYOUT}
    if default and not partly and layouts and layouts.get(default) is None:
        yield Violation(
            (*path, "default" if "default" in config else "name"),
            f"unlabelled nodes use layout {default}, which is not in {name}: the MIG manager fails on them",
            f"add {default} to the layouts"
            + (f": [{{{_DEVICES}: {_ALL}, {_ENABLED}: false}}]" if default == _DISABLED else "")
            + ", or set migManager.config.default",
            operator,
            Severity.WARNING,
        )
