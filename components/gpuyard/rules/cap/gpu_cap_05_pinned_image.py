"""GPU-CAP-05: GPU nodes boot an image that does not change by itself."""

from collections.abc import Iterator

from gpuyard.findings import Severity
from gpuyard.rules.rule import Parameters, Resource, Rule, Violation, at, items, mapping, text


def _check(resource: Resource, _: Parameters) -> Iterator[Violation]:
    for index, term in enumerate(items(at(resource.properties, "spec", "amiSelectorTerms"))):
        alias = text(mapping(term).get("alias"))
        if alias.endswith("@latest"):
            family = alias.partition("@")[0]
            yield Violation(
                ("spec", "amiSelectorTerms", index, "alias"),
                f"{alias} becomes another image, and another driver, on the day it is published",
                f"pin it, as {family}@v20260714",
            )


RULE = Rule(
    id="GPU-CAP-05",
    title="A Karpenter node class pins its image",
    severity=Severity.REFUSE,
    why="A new image brings a new driver: nodes drift, drain, and differ within one gang.",
    fix="Pin the version of the AMI alias, and move it on purpose.",
    sources=("Karpenter documentation, managing AMIs: @latest is for development",),
    kinds=("karpenter.k8s.aws/EC2NodeClass",),
    check=_check,
)
