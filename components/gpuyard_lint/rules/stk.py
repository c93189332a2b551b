"""Rules on the software stack."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from gpuyard_core.catalogue.cves import (
    Advisory,
    advisories,
    branch_of,
    known_vulnerabilities,
    minimum_fixed_version,
)
from gpuyard_core.catalogue.software.pins import GPU_OPERATOR, PINS
from gpuyard_core.catalogue.software.support import OperatorStatus, operator_status
from gpuyard_core.catalogue.software.versions import is_version, parse_version
from gpuyard_core.findings import Path, Severity
from gpuyard_core.manifests.fields import at, is_true, items, known_value, mapping, mappings, text
from gpuyard_core.manifests.placeholders import is_entirely_placeholder, is_placeholder
from gpuyard_lint.rules.rule import Parameters, Resource, Stack, Violation, load_rule
from gpuyard_lint.rules.subjects.components import (
    CLUSTER_POLICY,
    OPERATOR_VALUES,
    OPERATORS,
    RELEASES,
    VERSIONED_KINDS,
    ComponentVersion,
    components_in,
    has_more_values,
    is_switched_off,
    releases_of,
    values_of,
)
from gpuyard_lint.rules.subjects.operator_settings import is_as_released, is_full_copy
from gpuyard_lint.rules.subjects.pods import POD_KINDS, pods_of
from gpuyard_lint.rules.subjects.pools import NODE_GROUP, gpu_pools

# GPU-STK-01
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


def _check_vulnerabilities(resource: Resource, _: Parameters) -> Iterator[Violation]:
    by_cdi, of_values = _uses_cdi(resource), resource.group_kind == OPERATOR_VALUES
    for result in components_in(resource):
        if not _ONLY_A_BRANCH.match(result.version):
            old = by_cdi is None and _is_before_cdi(result)
            brings = result.component != _OPERATOR or not _is_without_toolkit(resource, result)
            for violation in _vulnerable(result, by_cdi=False if old else by_cdi, toolkit=brings):
                if not _is_on_nodes(resource, result):
                    yield _less(violation, resource, result)
                elif of_values and is_as_released(resource.properties, str(result.path[0])):
                    # a copy of a chart's default values: an explicit release of the toolkit overrides it
                    yield replace(violation, is_advisory=True)
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
        cdi = mapping(value, "cdi")
        strategy_variables = [
            each
            for each in mappings(mapping(value, "devicePlugin"), "env")
            if text(each, "name") == _STRATEGY
        ]
        if strategy_variables and "enabled" not in cdi:
            return any(_CDI in text(each, "value") for each in strategy_variables)
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
        items(each, "envFrom") for each in containers
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
        # a setting decides: a warning; the bulletin contradicts itself: at most info
        severity=None if plain else Severity.WARNING if worst.condition else Severity.INFO,
        is_advisory=not plain and not worst.condition,
    )


def _remark(advisory: Advisory, result: ComponentVersion) -> str:
    """Who is affected, or why the bulletin may not cover this version; "" if unconditional."""
    value, fixed = (parse_version(result.component, v) for v in (result.version, advisory.fixed_in))
    remark = advisory.condition or (advisory.doubt if value >= fixed else None)
    if advisory.introduced and advisory.precedes(value):
        remark = advisory.introduced[1]
    return f": {remark}" if remark else ""


# GPU-STK-02
_SAYS = {
    OperatorStatus.ENDED: "is no longer supported: its release line gets no fixes",
    OperatorStatus.DEPRECATED: "is on the previous release line: it gets only critical fixes",
}


def _check_support(resource: Resource, _: Parameters) -> Iterator[Violation]:
    for result in components_in(resource):
        if result.component != "gpu-operator":
            continue
        status = _status(result.version)
        if status is not None and status in _SAYS:
            yield Violation(
                result.path,
                f"GPU Operator {result.version} {_SAYS[status]}",
                f"upgrade one release line at a time to v{GPU_OPERATOR.version}",
            )


def _status(version: str) -> OperatorStatus | None:
    """For a range too, if all its versions are unsupported; None if it is not a version."""
    if is_ended_release_line("gpu-operator", version):
        return OperatorStatus.ENDED
    try:
        return operator_status(version)
    except ValueError:
        return None


# GPU-STK-03
_BY_VARIABLE = "ACCEPT_NVIDIA_VISIBLE_DEVICES_ENVVAR_WHEN_UNPRIVILEGED"
"""The toolkit setting with which volumes, not variables, select the GPUs of a container."""

_OF_MACHINES = "vm-"
_BEFORE = {
    "toolkit": re.compile(r"v?1\.(?:\d|1[0-7])\."),
    "driver": re.compile(r"(?:[1-4]\d\d|5[0-6]\d)\."),
}
"""Components of operators with CDI off by default; v25.10, with CDI on, has toolkit v1.18 and driver 580."""


def _check_cdi(resource: Resource, _: Parameters) -> Iterator[Violation]:
    above = OPERATORS[resource.group_kind]
    value = mapping(resource.properties, *above)
    off = is_switched_off(at(resource.properties, *above, "cdi", "enabled"))
    machines = text(at(resource.properties, *above, "sandboxWorkloads", "defaultWorkload"))
    if machines.startswith(_OF_MACHINES):
        return  # nodes there run virtual machines and have no toolkit
    by_volumes = off and any(  # the toolkit ignores the variable of an unprivileged container
        text(each, "name") == _BY_VARIABLE and str(each.get("value")).lower() == "false"
        for each in map(mapping, items(at(resource.properties, *above, "toolkit", "env")))
    )
    if off and not by_volumes:
        yield Violation(
            (*above, "cdi", "enabled"),
            "without CDI a container gets every GPU of a node with an environment variable",
            "set cdi.enabled: true, the operator's default",
            is_advisory=_is_of_openshift(value)
            or is_full_copy(value, policy=bool(above))
            or not _is_of_before(value),
        )


def _is_of_openshift(chart_values: Mapping[str, Any]) -> bool:
    """Whether it is OpenShift, whose operator had CDI off and supported it late."""
    operator = mapping(chart_values, "operator")
    return text(operator, "defaultRuntime") == "crio" or "use_ocp_driver_toolkit" in operator


def _is_of_before(chart_values: Mapping[str, Any]) -> bool:
    """Whether it repeats the operator's earlier default: otherwise it is deliberately off."""
    for part, before in _BEFORE.items():
        section = chart_values.get(part)
        version = section.get("version") if isinstance(section, Mapping) else None
        if isinstance(version, str) and before.match(version):
            return True
    return mapping(chart_values, "cdi").get("default") is False


def _enable_cdi(properties: Mapping[str, Any]) -> Mapping[str, Any]:
    if "spec" in properties:
        return {**properties, "spec": _enable_cdi(properties["spec"])}
    return {**properties, "cdi": {**properties["cdi"], "enabled": True}}


# GPU-STK-04
_HAS_DRIVER = re.compile(r"NVIDIA|_GPU\Z|\ACUSTOM\Z")
_OWNED = {"driver": "the driver", "toolkit": "the container toolkit"}


def _check_installers(stack: Stack, _: Parameters) -> Iterator[Violation]:
    images = [
        (pool, text(pool.resource.properties, "amiType"))
        for pool in gpu_pools(stack.resources_of_kinds(NODE_GROUP))
    ]
    brought = [image for _, image in images if "NVIDIA" in image]
    bare = [(pool, image) for pool, image in images if image and not _HAS_DRIVER.search(image)]
    for operator in stack.resources_of_kinds(*OPERATORS):
        path = OPERATORS[operator.group_kind]
        for part, owned in _OWNED.items():
            on = not is_switched_off(at(operator.properties, *path, part, "enabled"))
            if brought and not bare and on:
                yield Violation(
                    (*path, part, "enabled"),
                    f"{brought[0]} includes {owned}, and the operator installs another",
                    f"set {part}.enabled: false",
                    operator,
                    Severity.WARNING,  # the operator removes its driver pod if the node has a driver
                )
            elif bare and not brought and not on and part == "driver":
                yield Violation(
                    (*path, part, "enabled"),
                    f"nothing installs the driver: {bare[0][1]} has none and driver.enabled is false",
                    "set driver.enabled: true, or use an image with the driver",
                    operator,
                )


# GPU-STK-05
_AROUND = frozenset({"kube-prometheus-stack", "prometheus-adapter", "opencost", "keda"})
"""Monitoring charts: a newer one breaks dashboards, not nodes."""
CHARTS = _AROUND | frozenset(
    {
        *("gpu-operator", "nvidia-device-plugin", "dcgm-exporter", "network-operator"),
        *("kueue", "volcano", "karpenter", "cluster-autoscaler", "jobset", "kubeflow-trainer"),
        *("k8s-dra-driver-gpu", "nvidia-dra-driver-gpu", "node-feature-discovery"),
    }
)
"""Charts that a GPU platform consists of."""
_PATCHES = re.compile(r"v?\d+\.\d+\.[xX*]|~>?\s*v?\d+\.\d+\.\d+")
"""Any patch version of one minor version."""
_LINE = re.compile(r"(?:[~^]|v?\d)")
"""Ranges within one release line, also an old one: `65.x`, `^65`; not `*` nor `>=65`."""
_BOUNDED = re.compile(
    r">=?\s*v?(\d{1,9})\.(\d{1,9})(?:\.\d+)?(?:-0)?[\s,]+<\s*v?(\d{1,9})(?:\.(\d{1,9}))?(?:\.0)?(?:-0)?"
)
"""Ranges with a lower and an upper bound: `>=0.17.0 <0.18`, `>=1.2, <2`."""
_FLUX = "helm.toolkit.fluxcd.io/HelmRelease"
_EXPORTER = "dcgm-exporter"
_NEWEST: Mapping[str, str] = {
    "gpu-operator": GPU_OPERATOR.version,
    # for DCGM and the exporter, whose version the chart contains
    _EXPORTER: PINS[_EXPORTER].version.partition("-")[2],
}
"""Charts whose release lines end when the next begins, by their newest version."""
_WITHIN = re.compile(r"[~^=v]*\s*v?(\d{1,9})(?:\.[\dxX*]+){0,2}")
"""A range within one major version."""
_EXACT = re.compile(r"(?:=\s*)?v?\d+\.\d+\.\d+([-+][0-9A-Za-z.+-]+)?")


def _check_chart_versions(resource: Resource, _: Parameters) -> Iterator[Violation]:
    for chart, version, path in releases_of(resource):
        if chart in CHARTS and not _is_in_a_repository(resource):
            yield from _release(resource, chart, version, path)


def _is_in_a_repository(resource: Resource) -> bool:
    """Whether Flux takes the chart from a folder: it then ignores the version."""
    source = at(resource.properties, "spec", "chart", "spec", "sourceRef", "kind")
    return resource.group_kind == _FLUX and source in {"GitRepository", "Bucket"}


def _release(resource: Resource, chart: str, version: str, path: Path) -> Iterator[Violation]:
    partly = is_placeholder(version) and not is_entirely_placeholder(version)  # such as v${VERSION}
    if not (partly or _EXACT.fullmatch(version) or is_ended_release_line(chart, version)):
        value = f"`{version}`" if version else "no version"
        yield Violation(
            path,
            f"{chart} with {value} installs the newest version at install time",
            "write an exact version",
            severity=Severity.WARNING if chart in _AROUND or _is_a_line(version) else None,
            # a named release line of a chart that runs no GPUs
            is_advisory=_takes_patches(version) or (chart in _AROUND and _is_a_line(version)),
        )
    if is_true(resource.properties.get("reuseValues")):
        yield Violation(
            ("reuseValues",),
            "Helm reuses values of earlier releases, which this file does not show",
            "remove reuseValues, so that the file contains all values",
        )


def _takes_patches(version: str) -> bool:
    """Whether only the patch version can change."""
    within = _BOUNDED.fullmatch(version)
    if within is None or within[4] is None:
        return _PATCHES.fullmatch(version) is not None
    return within[1] == within[3] and int(within[4]) == int(within[2]) + 1


def _is_a_line(version: str) -> bool:
    """Whether the major version is fixed."""
    within = _BOUNDED.fullmatch(version)
    if within is None:
        return _LINE.match(version) is not None
    return within[1] == within[3] or (
        int(within[3]) == int(within[1]) + 1 and int(within[4] or 0) == 0
    )


def is_ended_release_line(chart: str, version: str) -> bool:
    """Whether a range is of an ended release line: every install gets the same chart."""
    match = _WITHIN.fullmatch(version)
    newest = _NEWEST.get(chart, "").partition(".")[0]
    return match is not None and newest.isdigit() and int(match[1]) < int(newest)


# GPU-STK-06
_APART = frozenset({"karpenter"})
"""Charts whose CRDs have a separate chart, to be installed first."""


def _check_crds(resource: Resource, _: Parameters) -> Iterator[Violation]:
    if resource.group_kind == OPERATOR_VALUES:
        if at(resource.properties, "operator", "upgradeCRD") is False:
            yield Violation(
                ("operator", "upgradeCRD"),
                "an upgrade keeps the old ClusterPolicy CRD, and the API server silently drops new fields",
                "set operator.upgradeCRD: true, or apply the CRDs before each upgrade",
                is_advisory=True,  # Argo CD applies them at each sync, and charts before 24.9 have it off
            )
        if is_true(at(resource.properties, "operator", "cleanupCRD")):
            yield Violation(
                ("operator", "cleanupCRD"),
                "uninstalling the release deletes its CRDs and all their objects",
                "set operator.cleanupCRD: false",
                is_advisory=True,  # explicitly set against the default, for users who reinstall
            )
        return
    ours = {chart for chart, _, _ in releases_of(resource)} & CHARTS
    if ours and is_true(resource.properties.get("skipCrds")):
        yield Violation(
            ("skipCrds",),
            "the CRDs are not installed: the API server rejects their objects",
            "remove skipCrds, or install the CRDs from a separate release first",
            is_advisory=ours <= _APART,
        )


RULES = (
    load_rule("GPU-STK-01", kinds=VERSIONED_KINDS, check=_check_vulnerabilities),
    load_rule(
        "GPU-STK-02", kinds=(OPERATOR_VALUES, CLUSTER_POLICY, *RELEASES), check=_check_support
    ),
    load_rule("GPU-STK-03", kinds=tuple(OPERATORS), check=_check_cdi, remediate=_enable_cdi),
    load_rule("GPU-STK-04", kinds=tuple(OPERATORS), check_stack=_check_installers),
    load_rule("GPU-STK-05", kinds=RELEASES, check=_check_chart_versions),
    load_rule("GPU-STK-06", kinds=(OPERATOR_VALUES, *RELEASES), check=_check_crds),
)
