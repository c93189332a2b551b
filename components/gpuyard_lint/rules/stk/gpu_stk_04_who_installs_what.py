"""GPU-STK-04: the operator does not install what the image includes."""

from collections.abc import Iterator

from gpuyard_core.findings import Severity
from gpuyard_lint.rules.rule import Parameters, Resource, Rule, Stack, Violation, at, text
from gpuyard_lint.rules.subjects.components import OPERATORS, is_switched_off
from gpuyard_lint.rules.subjects.pools import NODE_GROUP, gpu_pools

_PARTS = ("driver", "toolkit")
_OWNED = {"driver": "the driver", "toolkit": "the container toolkit"}


def _check(stack: Stack, _: Parameters) -> Iterator[Violation]:
    images = [
        (pool, text(pool.resource.properties.get("amiType")))
        for pool in gpu_pools(stack.resources_of_kinds(NODE_GROUP))
    ]
    brought = [image for _, image in images if "NVIDIA" in image]
    bare = [(pool, image) for pool, image in images if image and not _has_driver(image)]
    for operator in stack.resources_of_kinds(*OPERATORS):
        path = OPERATORS[operator.group_kind]
        for part in _PARTS:
            on = not is_switched_off(at(operator.properties, *path, part, "enabled"))
            if brought and not bare and on:
                yield _duplicates(operator, (*path, part, "enabled"), part, brought[0])
            elif bare and not brought and not on and part == "driver":
                yield Violation(
                    (*path, part, "enabled"),
                    f"nothing installs the driver: {bare[0][1]} has none and driver.enabled is false",
                    "set driver.enabled: true, or use an image with the driver",
                    operator,
                )


def _has_driver(image: str) -> bool:
    return "NVIDIA" in image or image.endswith("_GPU") or image == "CUSTOM"


def _duplicates(operator: Resource, path: tuple[str, ...], part: str, image: str) -> Violation:
    return Violation(
        path,
        f"{image} includes {_OWNED[part]}, and the operator installs another",
        f"set {part}.enabled: false",
        operator,
        Severity.WARNING,  # the operator removes its driver pod if the node has a driver
    )


RULE = Rule(
    id="GPU-STK-04",
    title="Node image and GPU Operator do not install the same component",
    severity=Severity.ERROR,
    why="Two drivers on one node conflict over a kernel module; without one the node advertises no GPU.",
    fix="Disable driver and toolkit in the operator if the image has them; enable them if it does not.",
    sources=("NVIDIA GPU Operator documentation, amazon-eks.rst; awslabs/amazon-eks-ami",),
    kinds=tuple(OPERATORS),
    check_stack=_check,
)
