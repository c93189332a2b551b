"""GPU-STK-01: no component has a published vulnerability."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace

from gpuyard_core.catalogue.cves import (
    Advisory,
    advisories,
    branch_of,
    known_vulnerabilities,
    minimum_fixed_version,
)
from gpuyard_core.catalogue.software.versions import is_version, parse_version
from gpuyard_core.findings import Severity
from gpuyard_core.manifests.placeholders import is_entirely_placeholder
from gpuyard_lint.rules.rule import (
    Parameters,
    Resource,
    Rule,
    Violation,
    is_true,
    items,
    known_value,
    mapping,
    mappings,
    text,
)
from gpuyard_lint.rules.subjects.components import (
    OPERATOR_VALUES,
    OPERATORS,
    VERSIONED_KINDS,
    ComponentVersion,
    components_in,
    has_more_values,
    is_switched_off,
    values_of,
)
from gpuyard_lint.rules.subjects.operator_settings import is_as_released
from gpuyard_lint.rules.subjects.pods import POD_KINDS, pods_of

_PLUGIN_VALUES = "values:nvidia-device-plugin"
_OPERATOR, _TOOLKIT = "gpu-operator", "container-toolkit"
"""Bulletins list the operator with the toolkit that it installs, and attribute the fault to the toolkit."""
_CDI = "cdi"
_BY_CDI = re.compile(r"\bcdi\b", re.IGNORECASE)
_ONLY_A_BRANCH = re.compile(r"\d+(-|$)")
"""The tag of a precompiled driver: 535-5.15.0-1048-nvidia was the newest of its branch at build time."""


_BEFORE_CDI: Mapping[str, tuple[int, ...]] = {"device-plugin": (0, 17), "mig-manager": (0, 12)}
"""Operators that pass devices by environment variable by default."""
_FIRST = "initContainers"
_TO_THE_END = frozenset({"batch/Job", "batch/CronJob"})
_STRATEGY = "DEVICE_LIST_STRATEGY"


def _check(resource: Resource, _: Parameters) -> Iterator[Violation]:
    by_cdi = _uses_cdi(resource)
    for result in components_in(resource):
        if not _ONLY_A_BRANCH.match(result.version):
            old = by_cdi is None and _is_before_cdi(result)
            brings = result.component != _OPERATOR or not _is_without_toolkit(resource, result)
            for violation in _vulnerable(result, by_cdi=False if old else by_cdi, toolkit=brings):
                if not _is_on_nodes(resource, result):
                    yield _less(violation, resource, result)
                elif _is_of_the_chart(resource, result):
                    yield replace(
                        violation, is_advisory=True
                    )  # an explicit release of the toolkit overrides this one
                elif result.component == _OPERATOR and has_more_values(resource, result.path[:-1]):
                    yield replace(violation, severity=Severity.WARNING)  # they may omit the toolkit
                else:
                    yield violation


def _is_without_toolkit(resource: Resource, result: ComponentVersion) -> bool:
    """Whether the operator installs none: nodes have their own, whose version is not in the input."""
    within = OPERATORS.get(resource.group_kind)
    values = (
        values_of(resource, result.path[:-1])
        if within is None
        else iter([mapping(resource.properties, *within)])
    )
    return any(_may_be_off(each.get("toolkit")) for each in values)


def _may_be_off(toolkit: object) -> bool:
    enabled = toolkit.get("enabled") if isinstance(toolkit, Mapping) else toolkit
    return is_switched_off(enabled) or is_entirely_placeholder(enabled)


def _is_of_the_chart(resource: Resource, result: ComponentVersion) -> bool:
    """Whether it is in a copy of a chart's complete default values, as in that release."""
    return resource.group_kind == OPERATOR_VALUES and is_as_released(
        resource.properties, str(result.path[0])
    )


def _is_on_nodes(resource: Resource, result: ComponentVersion) -> bool:
    """Whether it runs as itself on every node: in a DaemonSet, or in an object of its chart."""
    if resource.group_kind not in POD_KINDS:
        return True
    return resource.group_kind == "apps/DaemonSet" and _FIRST not in result.path


def _less(violation: Violation, resource: Resource, result: ComponentVersion) -> Violation:
    """An image of an init container or a job is used for a tool in it."""
    once = _FIRST in result.path or resource.group_kind in _TO_THE_END
    return replace(
        violation,
        severity=violation.severity or Severity.WARNING,
        is_advisory=violation.is_advisory or once,
    )


def _is_before_cdi(result: ComponentVersion) -> bool:
    first = _BEFORE_CDI.get(result.component)
    if first is None or not is_version(result.component, result.version):
        return False
    return parse_version(result.component, result.version).numbers < first


def _uses_cdi(resource: Resource) -> bool | None:
    """Whether CDI assigns devices; None if unknown. The current operator does by default."""
    if resource.group_kind in OPERATORS:
        value = mapping(resource.properties, *OPERATORS[resource.group_kind])
        cdi = mapping(value.get("cdi"))
        strategy_variables = [
            each
            for each in mappings(mapping(value.get("devicePlugin")), "env")
            if text(each.get("name")) == _STRATEGY
        ]
        if strategy_variables and "enabled" not in cdi:
            return any(_CDI in text(each.get("value")) for each in strategy_variables)
        return is_true(cdi.get("enabled")) if "enabled" in cdi else None
    if resource.group_kind == _PLUGIN_VALUES:
        return _CDI in str(known_value(resource.properties.get("deviceListStrategy")))
    containers = [each for pod in pods_of(resource) for _, each in pod.containers()]
    if not containers:
        return None
    written = [
        items(each.get(field)) for each in containers for field in ("args", "command", "env")
    ]
    return any(_CDI in str(each) for each in written) or any(
        items(each.get("envFrom")) for each in containers
    )


def _vulnerable(
    result: ComponentVersion, *, by_cdi: bool | None, toolkit: bool
) -> Iterator[Violation]:
    try:
        against = known_vulnerabilities(result.component, result.version)
    except ValueError:
        return  # a tag such as `latest` is no version; GPU-POD-03 checks those
    if by_cdi is False:
        against = tuple(each for each in against if not _BY_CDI.search(each.condition or ""))
    if not toolkit:
        of_it = {row.cve for row in advisories() if row.component == _TOOLKIT}
        against = tuple(each for each in against if each.cve not in of_it)
    if not against:
        return
    plain = [each for each in against if not _remark(each, result)]
    worst = (plain or against)[0]  # vulnerabilities with conditions come after unconditional ones
    lowest = minimum_fixed_version(result.component, branch_of(result.component, result.version))
    score = "" if worst.score is None else f" (score {worst.score})"
    more = f" and {len(against) - 1} more" if against[1:] else ""
    bulletin = f", NVIDIA bulletin {worst.bulletin}"
    of_one = all(each.bulletin == worst.bulletin for each in against)
    yield Violation(
        result.path,
        f"{result.component} {result.version} has {worst.cve}{score}"
        f"{f'{more}{bulletin}' if of_one else f'{bulletin},{more}'}{_remark(worst, result)}",
        f"upgrade to a version {lowest}"
        if lowest is not None and lowest.unaffected_above
        else f"upgrade to {lowest} or later",
        severity=None if plain else _grave(worst),
        is_advisory=not plain and not worst.condition,  # the bulletin contradicts itself
    )


def _grave(advisory: Advisory) -> Severity:
    """A setting decides: a warning. The bulletin contradicts itself: at most info."""
    return Severity.WARNING if advisory.condition else Severity.INFO


def _remark(advisory: Advisory, result: ComponentVersion) -> str:
    """Who is affected, or why the bulletin may not cover this version; "" if unconditional."""
    value, fixed = (parse_version(result.component, v) for v in (result.version, advisory.fixed_in))
    remark = advisory.condition or (advisory.doubt if value >= fixed else None)
    if advisory.introduced and advisory.precedes(value):
        remark = advisory.introduced[1]
    return f": {remark}" if remark else ""


RULE = Rule(
    id="GPU-STK-01",
    title="No component has a known vulnerability",
    severity=Severity.ERROR,
    why="These run as root on every GPU node; several known vulnerabilities allow container escapes.",
    fix="Upgrade to a fixed version from NVIDIA's security bulletins.",
    sources=("NVIDIA/product-security CSAF files, as gpuyard_core.catalogue.cves has them",),
    kinds=VERSIONED_KINDS,
    check=_check,
)
