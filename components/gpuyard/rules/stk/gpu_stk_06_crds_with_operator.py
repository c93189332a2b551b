"""GPU-STK-06: definitions of custom resources move with the operator that needs them."""

from collections.abc import Iterator

from gpuyard.findings import Severity
from gpuyard.rules.rule import Parameters, Resource, Rule, Violation, at, is_true
from gpuyard.rules.stk.gpu_stk_05_exact_charts import CHARTS
from gpuyard.rules.subjects.components import OPERATOR_VALUES, RELEASES, releases_of

_APART = frozenset({"karpenter"})
"""Whose definitions have a chart of their own, to be installed before it."""


def _check(resource: Resource, _: Parameters) -> Iterator[Violation]:
    if resource.group_kind == OPERATOR_VALUES:
        if at(resource.properties, "operator", "upgradeCRD") is False:
            yield Violation(
                ("operator", "upgradeCRD"),
                "an upgrade leaves the old ClusterPolicy definition, and new fields are dropped in silence",
                "leave operator.upgradeCRD on, or apply the definitions before each upgrade",
                is_advisory=True,  # Argo CD applies them at each sync, and charts before 24.9 have it off
            )
        if is_true(at(resource.properties, "operator", "cleanupCRD")):
            yield Violation(
                ("operator", "cleanupCRD"),
                "removing the release removes its definitions too, and what others made by them",
                "leave operator.cleanupCRD off",
                is_advisory=True,  # written out against the default, for who installs it anew
            )
        return
    ours = {chart for chart, _, _ in releases_of(resource)} & CHARTS
    if ours and is_true(resource.properties.get("skipCrds")):
        yield Violation(
            ("skipCrds",),
            "the definitions of custom resources are not installed: nothing that needs them can be made",
            "remove skipCrds, or apply the definitions from their own release first",
            is_advisory=ours <= _APART,
        )


RULE = Rule(
    id="GPU-STK-06",
    title="CRDs are installed and upgraded with their operator",
    severity=Severity.WARNING,
    why="Helm never upgrades what stands in a chart's crds folder; the operator's hook does.",
    fix="Leave the operator's own upgrade hook on; do not skip definitions.",
    sources=("NVIDIA GPU Operator documentation, upgrade.rst: hook on by default since 24.9.0",),
    kinds=(OPERATOR_VALUES, *RELEASES),
    check=_check,
)
