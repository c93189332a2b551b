"""GPU-STK-04: what the image brings, the operator does not install a second time."""

from collections.abc import Iterator

from gpuyard.findings import Severity
from gpuyard.rules.rule import Parameters, Resource, Rule, Stack, Violation, at, text
from gpuyard.rules.subjects.components import OPERATORS, is_switched_off
from gpuyard.rules.subjects.pools import NODE_GROUP, gpu_pools

_PARTS = ("driver", "toolkit")
_OWNED = {"driver": "the driver", "toolkit": "the container toolkit"}


def _check(stack: Stack, _: Parameters) -> Iterator[Violation]:
    images = [
        (pool, text(pool.resource.properties.get("amiType")))
        for pool in gpu_pools(stack.of(NODE_GROUP))
    ]
    brought = [image for _, image in images if "NVIDIA" in image]
    bare = [(pool, image) for pool, image in images if image and not _has_driver(image)]
    for operator in stack.of(*OPERATORS):
        path = OPERATORS[operator.group_kind]
        for part in _PARTS:
            on = not is_switched_off(at(operator.properties, *path, part, "enabled"))
            if brought and not bare and on:
                yield _duplicates(operator, (*path, part, "enabled"), part, brought[0])
            elif bare and not brought and not on and part == "driver":
                yield Violation(
                    (*path, part, "enabled"),
                    f"nobody installs the driver: {bare[0][1]} has none and the operator is told not to",
                    "set driver.enabled: true, or use an image with the driver",
                    operator,
                )


def _has_driver(image: str) -> bool:
    return "NVIDIA" in image or image.endswith("_GPU") or image == "CUSTOM"


def _duplicates(operator: Resource, path: tuple[str, ...], part: str, image: str) -> Violation:
    return Violation(
        path,
        f"{image} brings {_OWNED[part]}, and the operator starts its own beside it",
        f"set {part}.enabled: false",
        operator,
        Severity.WARNING,  # its driver pod goes again where it finds a driver
    )


RULE = Rule(
    id="GPU-STK-04",
    title="Node image and GPU Operator do not install the same component",
    severity=Severity.ERROR,
    why="Two drivers on one node fight over one kernel module; with none the node offers no GPU.",
    fix="Switch driver and toolkit off in the operator where the image has them, and on where it has not.",
    sources=("NVIDIA GPU Operator documentation, amazon-eks.rst; awslabs/amazon-eks-ami",),
    kinds=tuple(OPERATORS),
    check_stack=_check,
)
