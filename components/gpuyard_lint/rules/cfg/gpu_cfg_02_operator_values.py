"""GPU-CFG-02: the GPU Operator chart reads all values."""

import re
from collections.abc import Container, Iterator, Mapping
from difflib import SequenceMatcher
from typing import Any

from gpuyard_core.catalogue.software.operator_values import (
    FIELDS,
    OF_A_RELEASE,
    SECTIONS,
    TOP_LEVEL,
)
from gpuyard_core.findings import Path, Severity
from gpuyard_core.suggestions import nearest_name
from gpuyard_lint.rules.rule import (
    Parameters,
    Resource,
    Rule,
    Violation,
    at,
    known_value,
    mapping,
    text,
)
from gpuyard_lint.rules.subjects.components import CLUSTER_POLICY, OPERATOR_VALUES
from gpuyard_lint.rules.subjects.operator_settings import (
    is_default,
    is_empty_config,
    is_enable_flag,
    is_off,
    is_setting_satisfied,
    normalize_key,
    suggest_field,
    suggested_setting,
)

_FOUND = ("operator", "defaultRuntime")
"""Without effect: the operator detects the setting."""
_INSTEAD: Mapping[tuple[str, ...], str] = {
    (
        "mig",
        "config",
    ): "label nodes nvidia.com/mig.config; put your own layouts into migManager.config",
    _FOUND: "remove it: the operator detects the container runtime",
    ("migParted",): "set migManager.config with create, name and data",
    ("devicePlugin", "mps", "enabled"): "remove it; write sharing.mps into devicePlugin.config",
    ("devicePlugin", "mps", "replicas"): "remove it; write sharing.mps into devicePlugin.config",
    ("mps",): "remove it; write sharing.mps into devicePlugin.config",
    ("driver", "useOpenKernelModules"): "write driver.kernelModuleType: open",
    ("driver", "maxParallelUpgrades"): "write driver.upgradePolicy.maxParallelUpgrades",
    ("driver", "autoUpgrade"): "write driver.upgradePolicy.autoUpgrade",
}
"""Keys from guides that the chart does not have, or reads and drops."""
_FAILS = frozenset(
    {("mig", "config"), ("migParted",), ("devicePlugin", "mps", "enabled"), ("mps",)}
)
"""Settings without which pods wait for missing slices or shares."""
_SLIP = 0.9
"""Minimum similarity of a misspelled key, so that keys with only a common prefix do not match."""
_SWITCHES = ("enable", "enabled")
_OLD_OPERATOR, _OLD_TOOLKIT = re.compile(r"v?1\.\d+\."), re.compile(r"1\.[0-7]\.|v1\.(?:[89]|10)\.")
_STRATEGIES = ("none", "single", "mixed", "")
_LAYOUTS = ("all-disabled", "")


def _check(resource: Resource, _: Parameters) -> Iterator[Violation]:
    in_values = resource.group_kind == OPERATOR_VALUES
    base: Path = () if in_values else ("spec",)
    values = resource.properties if in_values else mapping(resource.properties.get("spec"))
    if in_values and not _of_before(values):
        yield from _ignored_keys(values)
    yield from _wrong(values, base)


def _of_before(values: Mapping[str, Any]) -> bool:
    """Whether the operator versions are before 22.9: that chart had other keys, and tags had no v."""
    operator, toolkit = (text(at(values, part, "version")) for part in ("operator", "toolkit"))
    return bool(_OLD_OPERATOR.match(operator) or _OLD_TOOLKIT.match(toolkit))


def _ignored_keys(values: Mapping[str, Any]) -> Iterator[Violation]:
    known_paths = set()
    for path, instead in _INSTEAD.items():
        value = at(values, *path)
        if value is not None:
            known_paths.add(path)
            yield _dropped(path, instead, _of_guides(path, value, values))
    for key, below in values.items():
        if key not in TOP_LEVEL and (key,) not in known_paths:
            suggestion = suggested_setting(key) or nearest_name(key, sorted(TOP_LEVEL))
            severity = _severity(key, below, suggestion, values)
            yield _dropped((key,), f"write {suggestion}" if suggestion else "remove it", severity)
        for name in _unexpected(key, known_value(below)):
            if (key, name) not in known_paths:
                suggestion = nearest_name(name, sorted(SECTIONS[key]))
                severity = _severity(
                    name, mapping(known_value(below))[name], suggestion, values, key
                )
                yield _dropped(
                    (key, name),
                    f"write {key}.{suggestion}" if suggestion else "remove it",
                    severity,
                )
    for path in FIELDS:
        yield from _unread_below(path, values, known_paths)


def _unread_below(
    path: tuple[str, ...], values: Mapping[str, Any], known_paths: Container[tuple[str, ...]]
) -> Iterator[Violation]:
    """Keys below the second level that are not fields there."""
    value: Any = values
    for key in path:
        value = value.get(key) if isinstance(value, Mapping) else None
    for name, below in value.items() if isinstance(value, Mapping) else ():
        if name not in FIELDS[path] and (*path, name) not in known_paths:
            suggestion = suggest_field(name, FIELDS[path])
            fix = f"write {'.'.join((*path, suggestion))}" if suggestion else "remove it"
            so_anyway = is_enable_flag(name) and is_setting_satisfied(name, below, values)
            severity = Severity.INFO if so_anyway else _lost_below(path, name, below, suggestion)
            yield _dropped((*path, name), fix, severity)


def _dropped(path: tuple[str, ...], fix: str, severity: Severity | None) -> Violation:
    message = f"{'.'.join(path)} is not a value of the chart: it has no effect"
    if severity is Severity.INFO:
        message = (
            f"{'.'.join(path)} is not a value of the current chart: it is dropped, without loss"
        )
    return Violation(path, message, fix, severity=severity, is_advisory=severity is Severity.INFO)


def _of_guides(path: tuple[str, ...], value: Any, values: Mapping[str, Any]) -> Severity | None:
    section = path[0]
    idle = path == ("devicePlugin", "mps", "replicas") and at(values, *path[:2], "enabled") is False
    if path == ("mps",):  # `met` mistakes its replicas for those of the chart
        return Severity.INFO if is_off(value) or is_empty_config(value) else None
    off = value in _LAYOUTS or (value is False and not is_enable_flag(path[-1]))
    if off or path == _FOUND or idle or is_setting_satisfied(path[-1], value, values, section):
        return Severity.INFO
    return None if path in _FAILS else Severity.WARNING


def _severity(
    name: str, value: Any, suggestion: str | None, values: Mapping[str, Any], section: str = ""
) -> Severity | None:
    """The severity: lower if nothing is lost or the requested state is the default anyway.

    Higher where a component stays enabled that should be disabled, or where only a letter is wrong.
    """
    nothing = is_empty_config(value, off=not suggestion and not is_enable_flag(name))
    if nothing or is_setting_satisfied(name, value, values, section, suggestion):
        return Severity.INFO
    return (
        None if suggestion and (is_off(value) or _is_slip(name, suggestion)) else Severity.WARNING
    )


def _lost_below(
    path: tuple[str, ...], name: str, value: Any, suggestion: str | None
) -> Severity | None:
    """The same for a field of a closed object: a default value is not lost."""
    idle = suggestion is None and (value is True and normalize_key(name) == "enabled")
    if (
        idle
        or is_empty_config(value, off=suggestion is None)
        or is_default(path, suggestion, value)
    ):
        return Severity.INFO
    sure = suggestion and FIELDS[path][suggestion] is not OF_A_RELEASE
    return (
        None if sure and (is_off(value) or _is_slip(name, suggestion or "")) else Severity.WARNING
    )


def _is_slip(name: str, suggestion: str) -> bool:
    are_identical = (
        SequenceMatcher(None, normalize_key(name), normalize_key(suggestion)).ratio() >= _SLIP
    )
    return are_identical or suggested_setting(name) == suggestion


def _unexpected(key: str, below: Any) -> list[str]:
    return [name for name in mapping(below) if key in SECTIONS and name not in SECTIONS[key]]


def _wrong(values: Mapping[str, Any], base: Path) -> Iterator[Violation]:
    layout = text(at(values, "migManager", "config", "default"))
    if layout not in _LAYOUTS:
        yield Violation(
            (*base, "migManager", "config", "default"),
            f"{layout} is rejected: a ClusterPolicy allows only all-disabled here",
            f"label nodes nvidia.com/mig.config={layout}",
        )
    strategy = at(values, "mig", "strategy")
    if strategy is not None and strategy not in _STRATEGIES:
        yield Violation(
            (*base, "mig", "strategy"),
            f"mig.strategy {strategy} is rejected: it must be none, single or mixed",
            "write one of them",
        )
    version = text(at(values, "toolkit", "version"))
    if version[:1].isdigit() and not _of_before(values):
        yield Violation(
            (*base, "toolkit", "version"),
            f"the container toolkit has no image with tag {version}: tags begin with v",
            f"write v{version}",
        )


RULE = Rule(
    id="GPU-CFG-02",
    title="GPU Operator values exist in its chart",
    severity=Severity.ERROR,
    why="Helm silently accepts any key: a layout or a runtime under an unknown key has no effect.",
    fix="Use only values of the chart; set MIG layouts with node labels.",
    sources=(
        "NVIDIA/gpu-operator v26.7.0 deployments/gpu-operator/values.yaml and the ClusterPolicy CRD",
    ),
    kinds=(OPERATOR_VALUES, CLUSTER_POLICY),
    check=_check,
)
