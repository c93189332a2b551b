"""GPU-AWS-08: GPU nodes use an image that still gets driver updates."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from gpuyard_core.findings import Path, Severity
from gpuyard_lint.rules.rule import (
    Parameters,
    Resource,
    Rule,
    Stack,
    Violation,
    items,
    mapping,
    text,
)
from gpuyard_lint.rules.subjects.pools import NODE_CLASS, NODE_GROUP, classes_of_gpus, gpu_pool

_ENDED = ("AL2_",)
_NO_DRIVER = frozenset({"AL2023_x86_64_STANDARD", "AL2023_ARM_64_STANDARD"})
_ALIAS, _NAME, _PARAMETER = "al2@", "amazon-eks-gpu-node-", "/amazon-linux-2-gpu/"
"""Names of Amazon Linux 2 GPU images in node classes; names of AL2023 images contain the family."""
_MAKERS = ("", "amazon", "602401143452")
_OF_CLASSES = "alias: al2023@VERSION or bottlerocket@VERSION"
_OF_FAMILIES = "amiFamily: AL2023 or Bottlerocket"
_BEFORE = "karpenter.k8s.aws/v1beta1/"
"""The API version in which amiFamily alone selects its newest image; it has no alias."""


def _check(resource: Resource, _: Parameters) -> Iterator[Violation]:
    if resource.group_kind == NODE_CLASS or gpu_pool(resource) is None:
        return
    image = text(resource.properties.get("amiType"))
    if image.startswith(_ENDED):
        yield _of_before(("amiType",), image, "AL2023_x86_64_NVIDIA or BOTTLEROCKET_x86_64_NVIDIA")
    elif image in _NO_DRIVER:
        yield Violation(
            ("amiType",),
            f"{image} has no GPU driver: the nodes join but advertise no GPU",
            f"use {image.replace('STANDARD', 'NVIDIA')}",
        )


def _check_classes(stack: Stack, _: Parameters) -> Iterator[Violation]:
    for node_class, pools in classes_of_gpus(stack):
        spec = mapping(node_class.properties.get("spec"))
        results = [_old_image(mapping(each)) for each in items(spec.get("amiSelectorTerms"))]
        # of several terms Karpenter boots the newest image, which may be of another kind
        for index, (key, image) in enumerate(each for each in results if all(results) and each):
            path = ("spec", "amiSelectorTerms", index, key)
            yield _of_class(path, image, node_class, pools)
        if not results and node_class.kind.startswith(_BEFORE):
            family = text(spec.get("amiFamily"))
            if family == "AL2":
                yield _of_class(("spec", "amiFamily"), family, node_class, pools)


def _old_image(term: Mapping[str, Any]) -> tuple[str, str] | None:
    """The key and value of a term that selects an Amazon Linux 2 GPU image, if it does."""
    alias, name, parameter = (text(term.get(key)) for key in ("alias", "name", "ssmParameter"))
    if alias.startswith(_ALIAS):
        return "alias", alias
    if name.startswith(_NAME) and text(term.get("owner")) in _MAKERS:
        return "name", name
    return ("ssmParameter", parameter) if _PARAMETER in parameter else None


def _of_class(path: Path, image: str, node_class: Resource, pools: Sequence[str]) -> Violation:
    """For a node class and the pools that use it: the class itself does not mention GPUs."""
    before = node_class.kind.startswith(_BEFORE)
    violation = _of_before(path, image, _OF_FAMILIES if before else _OF_CLASSES)
    names = ", ".join(sorted(set(pools)))
    of_gpus = f"GPU pool {names}" if len(set(pools)) == 1 else f"GPU pools {names}"
    return replace(violation, problem=f"{violation.problem} ({of_gpus})", resource=node_class)


def _of_before(path: Path, image: str, instead: str) -> Violation:
    message = (
        f"{image} is Amazon Linux 2: EKS publishes no new AMIs of it, so its driver gets no updates"
    )
    return Violation(path, message, f"use {instead}")


RULE = Rule(
    id="GPU-AWS-08",
    title="EKS GPU nodes use a current accelerated image",
    severity=Severity.ERROR,
    why="Without a driver in the image you pay for GPU nodes that advertise no GPU.",
    fix="Use the AL2023 or Bottlerocket images with the NVIDIA driver, or your own custom image.",
    sources=(
        "awslabs/amazon-eks-ami releases; terraform-aws-eks v21 defaults to AL2023",
        "awslabs/amazon-eks-ami#2545: no images of Amazon Linux 2 after 2025-11-26",
    ),
    kinds=(NODE_GROUP, NODE_CLASS),
    check=_check,
    check_stack=_check_classes,
)
