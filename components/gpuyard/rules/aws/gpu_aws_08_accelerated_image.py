"""GPU-AWS-08: GPU nodes boot an image that still gets drivers."""

from collections.abc import Iterator

from gpuyard.findings import Severity
from gpuyard.rules.rule import Parameters, Resource, Rule, Violation, text
from gpuyard.rules.subjects.pools import NODE_GROUP, gpu_pool

_ENDED = ("AL2_",)
_NO_DRIVER = frozenset({"AL2023_x86_64_STANDARD", "AL2023_ARM_64_STANDARD"})


def _check(resource: Resource, _: Parameters) -> Iterator[Violation]:
    image = text(resource.properties.get("amiType"))
    if gpu_pool(resource) is None:
        return
    if image.startswith(_ENDED):
        yield Violation(
            ("amiType",),
            f"{image} is Amazon Linux 2: EKS makes no new image of it, so its driver stays as it is",
            "use AL2023_x86_64_NVIDIA or BOTTLEROCKET_x86_64_NVIDIA",
        )
    elif image in _NO_DRIVER:
        yield Violation(
            ("amiType",),
            f"{image} has no GPU driver: the nodes join and offer no GPU",
            f"use {image.replace('STANDARD', 'NVIDIA')}",
        )


RULE = Rule(
    id="GPU-AWS-08",
    title="EKS GPU nodes use a current accelerated image",
    severity=Severity.REFUSE,
    why="An image without a driver gives nodes that cost like GPU nodes and have none.",
    fix="Use the AL2023 or Bottlerocket images with NVIDIA's driver, or a custom image of yours.",
    sources=("awslabs/amazon-eks-ami releases; terraform-aws-eks v21 defaults to AL2023",),
    kinds=(NODE_GROUP,),
    check=_check,
)
