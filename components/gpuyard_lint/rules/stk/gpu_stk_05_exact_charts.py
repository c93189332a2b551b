"""GPU-STK-05: charts have exact versions."""

import re
from collections.abc import Iterator, Mapping

from gpuyard_core.catalogue.software.pins import GPU_OPERATOR, OPERATOR_PARTS
from gpuyard_core.findings import Path, Severity
from gpuyard_core.manifests.placeholders import is_entirely_placeholder, is_placeholder
from gpuyard_lint.rules.rule import Parameters, Resource, Rule, Violation, at, is_true
from gpuyard_lint.rules.subjects.components import RELEASES, releases_of

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
    **{
        each.name: each.version.partition("-")[2]
        for each in OPERATOR_PARTS
        if each.name == _EXPORTER
    },
}
"""Charts whose release lines end when the next begins, by their newest version."""
_WITHIN = re.compile(r"[~^=v]*\s*v?(\d{1,9})(?:\.[\dxX*]+){0,2}")
"""A range within one major version."""
_EXACT = re.compile(r"(?:=\s*)?v?\d+\.\d+\.\d+([-+][0-9A-Za-z.+-]+)?")


def _check(resource: Resource, _: Parameters) -> Iterator[Violation]:
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


RULE = Rule(
    id="GPU-STK-05",
    title="Charts have exact versions, and their values are in the repository",
    severity=Severity.ERROR,
    why="One file must give identical clusters, also when you create one a month later.",
    fix="Use exact chart versions; do not reuse values of earlier releases.",
    sources=("Helm documentation, version constraints and --reuse-values",),
    kinds=RELEASES,
    check=_check,
)
