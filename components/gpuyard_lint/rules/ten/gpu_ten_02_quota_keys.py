"""GPU-TEN-02: GPU quotas are effective."""

from collections.abc import Iterator

from gpuyard_core.findings import Severity
from gpuyard_lint.rules.rule import Parameters, Resource, Rule, Violation, mapping

_VENDOR = "nvidia.com/"
_OF_HAMI = frozenset(
    f"limits.{_VENDOR}{part}" for part in ("gpumem", "gpumem-percentage", "gpucores")
)
"""GPU shares of HAMi: only its scheduler reads and counts these keys."""


def _check(resource: Resource, _: Parameters) -> Iterator[Violation]:
    hard = mapping(mapping(resource.properties.get("spec")).get("hard"))
    for key in hard:
        if key.startswith((_VENDOR, f"limits.{_VENDOR}")) and key not in _OF_HAMI:
            name = key.removeprefix("limits.")
            bound = f"requests.{name}" in hard
            yield Violation(
                ("spec", "hard", key),
                f"`{key}` limits nothing: for extended resources a quota supports only `requests.`",
                "remove it" if bound else f"write requests.{name}",
                severity=Severity.WARNING if bound else None,
            )


RULE = Rule(
    id="GPU-TEN-02",
    title="GPU quotas use the requests. prefix",
    severity=Severity.ERROR,
    why="A namespace with an ineffective quota can use every GPU of the cluster without any warning.",
    fix="Prefix GPU quota keys with requests., for example requests.nvidia.com/gpu.",
    sources=(
        "kubernetes pkg/quota/v1/evaluator/core/pods.go",
        "Project-HAMi/HAMi pull request 1359: quotas of memory and cores",
    ),
    kinds=("ResourceQuota",),
    check=_check,
)
