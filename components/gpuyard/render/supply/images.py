"""Every image that a platform's pods pull: by digest where the catalogue knows one, else by tag alone.

Those of charts are known by the charts' own values. What a cloud puts on its nodes itself is not here, nor
what teams run.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from gpuyard.catalogue.software.charts import (
    AUTOSCALER_CHART,
    EFA_PLUGIN,
    GPU_OPERATOR_CHART,
    KARPENTER_CHART,
    KARPENTER_PIN,
    KUEUE_CHART,
    NFD_IMAGE,
    OPERATOR_IMAGES,
    OperatorImage,
)
from gpuyard.plan.capacity.autoscaler import installs_autoscaler
from gpuyard.plan.capacity.karpenter import installs_karpenter
from gpuyard.plan.records import OperatorParts, PlatformPlan
from gpuyard.render.gpu_operator.values import operator_values
from gpuyard.render.mirror import image_repository, mirrored
from gpuyard.render.platform import cloud_objects

_EVERY_RELEASE = frozenset({"operator", "validator"})
"""Parts of the operator's chart that have no switch of ours."""


@dataclass(frozen=True, slots=True, order=True)
class PulledImage:
    """One image, as nodes are told it."""

    repository: str
    tag: str
    digest: str = ""
    """Empty where nobody has published one that we have seen: whoever holds the tag may change the image."""
    of: str = ""
    """What of the platform pulls it."""
    adds: str = ""
    """What is put after the tag on each node, in words."""

    @property
    def reference(self) -> str:
        """As a registry is asked for it."""
        return f"{self.repository}:{self.tag}" + (f"@{self.digest}" if self.digest else "")


def pulled_images(plan: PlatformPlan) -> list[PulledImage]:
    """Each once, by name; none on a simulated cluster, whose nodes run nothing."""
    if plan.simulated:
        return []
    found = (_kueue, _operator, _autoscaler, _karpenter, _of_cloud, _programs, _validator)
    return sorted({image for each in found for image in each(plan)})


def _kueue(plan: PlatformPlan) -> Iterator[PulledImage]:
    if plan.queueing.install:
        tag = KUEUE_CHART.tag.format(plan.software[KUEUE_CHART.name])
        yield PulledImage(image_repository(plan.spec, KUEUE_CHART), tag, of="Kueue")


def _autoscaler(plan: PlatformPlan) -> Iterator[PulledImage]:
    if installs_autoscaler(plan.spec):
        tag = AUTOSCALER_CHART.tag.format(plan.software[AUTOSCALER_CHART.name])
        yield PulledImage(
            image_repository(plan.spec, AUTOSCALER_CHART), tag, of="Cluster Autoscaler"
        )


def _karpenter(plan: PlatformPlan) -> Iterator[PulledImage]:
    if installs_karpenter(plan.spec):
        tag = KARPENTER_CHART.tag.format(plan.software[KARPENTER_PIN])
        yield PulledImage(image_repository(plan.spec, KARPENTER_CHART), tag, of="Karpenter")


def _of_cloud(plan: PlatformPlan) -> Iterator[PulledImage]:
    """Found in the objects: what is not made pulls nothing, and images of init containers are on the node."""
    for each in cloud_objects(plan):
        efa = each["metadata"]["name"] == EFA_PLUGIN.name
        for container in each["spec"].get("template", {}).get("spec", {}).get("containers", ()):
            yield _named(
                container["image"], "EFA's device plugin" if efa else "Google's driver installer"
            )


def _programs(plan: PlatformPlan) -> Iterator[PulledImage]:
    """Of ours, which run in an image of Python."""
    asked = (("idle reclaim", plan.idle), ("requeueing", plan.interruption))
    of: dict[str, list[str]] = {}
    for what, found in asked:
        if found is not None:
            of.setdefault(found.image, []).append(what)
    yield from (_named(image, " and ".join(whats)) for image, whats in of.items())


def _validator(plan: PlatformPlan) -> Iterator[PulledImage]:
    if plan.validation is not None and plan.validation.checks:
        yield _named(plan.validation.image, "the check of hardware")


def _named(image: str, of: str) -> PulledImage:
    """An image as pods name it; without a tag a registry gives the one that is called latest."""
    name, _, digest = image.partition("@")
    folder, slash, last = name.rpartition("/")
    repository, _, tag = last.partition(":")
    return PulledImage(f"{folder}{slash}{repository}", tag or "latest", digest, of=of)


def _operator(plan: PlatformPlan) -> Iterator[PulledImage]:
    parts = plan.operator
    if parts is None or not parts.install:
        return
    values = operator_values(plan, parts)
    for image in OPERATOR_IMAGES:
        if not _runs(image, values, parts):
            continue
        pin = image.pin or GPU_OPERATOR_CHART.name
        tag = image.tag if image.pin else GPU_OPERATOR_CHART.tag
        repository = mirrored(plan.spec, f"{image.repository}/{image.image}")
        driver = image.values == ("driver",)
        version = parts.driver if driver and parts.driver else plan.software[pin]
        adds = "the system of the node, as -ubuntu24.04" if driver else ""
        yield PulledImage(repository, tag.format(version), of="GPU Operator", adds=adds)
    nfd = mirrored(plan.spec, f"{KUEUE_CHART.registry}/{NFD_IMAGE}")
    tag = f"v{plan.software['node-feature-discovery']}"
    yield PulledImage(nfd, tag, of="GPU Operator")


def _runs(image: OperatorImage, values: dict[str, dict[str, object]], parts: OperatorParts) -> bool:
    """Whether a pod of it is started somewhere."""
    section = image.values[0]
    if section == "draDriver":
        return parts.claims
    return section in _EVERY_RELEASE or values[section]["enabled"] is True
