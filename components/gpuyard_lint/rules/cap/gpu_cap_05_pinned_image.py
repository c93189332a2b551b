"""GPU-CAP-05: the image of GPU nodes changes only deliberately."""

from collections.abc import Iterator
from dataclasses import replace

from gpuyard_core.findings import Severity
from gpuyard_lint.rules.rule import (
    Parameters,
    Resource,
    Rule,
    Stack,
    Violation,
    at,
    items,
    mapping,
    text,
)
from gpuyard_lint.rules.subjects.pools import NODE_CLASS, classes_of_gpus

_ONLY_LATEST = "windows"
"""Karpenter accepts only @latest for these."""
_NO_MORE = "al2@"
"""EKS has published no Amazon Linux 2 image since November 2025: latest does not change (GPU-AWS-08)."""


def _check(stack: Stack, _: Parameters) -> Iterator[Violation]:
    for node_class, _pools in classes_of_gpus(stack):
        for violation in moving_images(node_class):
            yield replace(violation, resource=node_class)


def moving_images(resource: Resource) -> Iterator[Violation]:
    """The images of a node class that change over time."""
    for index, term in enumerate(items(at(resource.properties, "spec", "amiSelectorTerms"))):
        alias = text(mapping(term).get("alias"))
        if alias.endswith("@latest") and not alias.startswith((_ONLY_LATEST, _NO_MORE)):
            family = alias.partition("@")[0]
            yield Violation(
                ("spec", "amiSelectorTerms", index, "alias"),
                f"{alias} changes to a new image, with another driver, when EKS publishes one",
                f"pin it, for example {family}@v20260930",
            )


RULE = Rule(
    id="GPU-CAP-05",
    title="A Karpenter node class of GPU nodes pins its image",
    severity=Severity.WARNING,
    why="A new image brings a new driver: nodes drift and drain, and drivers differ within one gang.",
    fix="Pin the version of the AMI alias, and change it only when you upgrade.",
    sources=(
        "Karpenter documentation, managing AMIs: @latest is for development",
        "EKS user guide, end of the AL2 images on 2025-11-26",
    ),
    kinds=(NODE_CLASS,),
    check_stack=_check,
)
