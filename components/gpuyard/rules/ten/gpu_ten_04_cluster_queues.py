"""GPU-TEN-04: a Kueue queue that admits whom it should, and says how much it may borrow."""

from collections.abc import Iterator
from typing import Any

from gpuyard.findings import Severity
from gpuyard.rules.rule import Parameters, Resource, Rule, Violation, items, known, mapping

_SERVED = "kueue.x-k8s.io/v1beta2"


def _check(resource: Resource, _: Parameters) -> Iterator[Violation]:
    spec = mapping(resource.properties.get("spec"))
    if not resource.kind.startswith(f"{_SERVED}/"):
        yield Violation(
            ("apiVersion",), f"{resource.kind} is a deprecated version", f"write {_SERVED}"
        )
    yield from _selector(spec)
    if known(spec.get("cohortName")):
        yield from _borrowing(spec)


def _selector(spec: Any) -> Iterator[Violation]:
    path = ("spec", "namespaceSelector")
    fix = "select the team's namespace by a label of its own"
    selector = known(spec.get("namespaceSelector"))
    if selector is None:
        yield Violation(path, "without a namespaceSelector no namespace may submit a job", fix)
    elif not mapping(selector):
        yield Violation(path, "an empty namespaceSelector lets every namespace use this quota", fix)


def _borrowing(spec: Any) -> Iterator[Violation]:
    for g, group in enumerate(items(spec.get("resourceGroups"))):
        for f, flavor in enumerate(items(mapping(group).get("flavors"))):
            for r, resource in enumerate(items(mapping(flavor).get("resources"))):
                if known(mapping(resource).get("borrowingLimit")) is None:
                    yield Violation(
                        (
                            "spec",
                            "resourceGroups",
                            g,
                            "flavors",
                            f,
                            "resources",
                            r,
                            "borrowingLimit",
                        ),
                        "without a borrowingLimit the queue may take everything that others leave idle",
                        "say how much; 0 borrows nothing",
                    )


RULE = Rule(
    id="GPU-TEN-04",
    title="A cluster queue selects its namespaces and limits its borrowing",
    severity=Severity.REFUSE,
    why="A null selector admits nobody, an empty one everybody, and borrowing without limit is not a plan.",
    fix="Select namespaces by a label of the team, and give every flavor a borrowingLimit.",
    sources=("kubernetes-sigs/kueue v0.19.2 apis/kueue/v1beta2/clusterqueue_types.go",),
    kinds=("kueue.x-k8s.io/ClusterQueue",),
    check=_check,
)
