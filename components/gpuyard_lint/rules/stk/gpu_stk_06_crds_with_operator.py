"""GPU-STK-06: CRDs are upgraded with their operator."""

from collections.abc import Iterator

from gpuyard_core.findings import Severity
from gpuyard_lint.rules.rule import Parameters, Resource, Rule, Violation, at, is_true
from gpuyard_lint.rules.stk.gpu_stk_05_exact_charts import CHARTS
from gpuyard_lint.rules.subjects.components import OPERATOR_VALUES, RELEASES, releases_of

_APART = frozenset({"karpenter"})
"""Charts whose CRDs have a separate chart, to be installed first."""


def _check(resource: Resource, _: Parameters) -> Iterator[Violation]:
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


RULE = Rule(
    id="GPU-STK-06",
    title="CRDs are installed and upgraded with their operator",
    severity=Severity.WARNING,
    why="Helm never upgrades CRDs in a chart's crds folder; the operator's hook does.",
    fix="Keep the operator's CRD upgrade hook enabled; do not skip CRDs.",
    sources=("NVIDIA GPU Operator documentation, upgrade.rst: hook on by default since 24.9.0",),
    kinds=(OPERATOR_VALUES, *RELEASES),
    check=_check,
)
