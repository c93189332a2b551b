"""Every image that a platform's pods pull: by digest where the catalogue knows one, else by tag alone.

Those of charts are known by the charts' own values. What a cloud puts on its nodes itself is not here, nor
what teams run.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from gpuyard.catalogue.software.charts import (
    AUTOSCALER_CHART,
    DRA_DRIVER_CHART,
    DRA_DRIVER_PIN,
    EFA_PLUGIN,
    KARPENTER_CHART,
    KARPENTER_PIN,
    KUEUE_CHART,
    NFD_IMAGE,
    OPERATOR_IMAGES,
    RDMA_PLUGIN,
    Chart,
    OperatorImage,
)
from gpuyard.catalogue.software.digests import BY_TAG, digest_of
from gpuyard.catalogue.software.programs import PAUSE_HOME, PYTHON
from gpuyard.plan.capacity.autoscaler import installs_autoscaler
from gpuyard.plan.capacity.karpenter import installs_karpenter
from gpuyard.plan.records import PlatformPlan
from gpuyard.render.gpu_operator.dra_driver import dra_driver_release
from gpuyard.render.gpu_operator.values import nfd_tag, operator_tag, operator_values, runs
from gpuyard.render.mirror import home_of, mirrored
from gpuyard.render.platform import cloud_objects
from gpuyard.render.scaling.keep_warm import keep_warm_objects
from gpuyard.render.supply.prepull import pause_image, prepull_images

_AGENTS = {
    EFA_PLUGIN.name: "EFA's device plugin",
    RDMA_PLUGIN.name: "the RDMA device plugin",
}
_AHEAD = "what nodes pull ahead"
OF_EACH_SYSTEM = frozenset({"driver", "gdrcopy"})
"""Parts of the operator with an image for each system that nodes have: it puts its name after the tag."""


@dataclass(frozen=True, slots=True, order=True)
class PulledImage:
    """One image, as nodes are told it."""

    repository: str
    tag: str
    """Empty where a chart that we do not know names it."""
    digest: str = ""
    """Empty where nobody has published one that we have seen: whoever holds the tag may change the image."""
    component: str = ""
    """What of the platform pulls it."""
    tag_suffix: str = ""
    """What is put after the tag on each node, in words."""
    upstream: str = ""
    """Where its project publishes it; what the stack file itself names is there."""

    @property
    def reference(self) -> str:
        """As a registry is asked for it."""
        tag = f":{self.tag}" if self.tag else ""
        return f"{self.repository}{tag}" + (f"@{self.digest}" if self.digest else "")

    @property
    def why_by_tag(self) -> str:
        """Why no digest names it."""
        if self.digest:
            return ""
        if not self.tag:
            return "its chart names the version, and we do not know that chart"
        return BY_TAG.get(self.upstream, "no digest of this version was found")


def pulled_images(plan: PlatformPlan) -> list[PulledImage]:
    """Each once, by name; none on a simulated cluster, whose nodes run nothing."""
    if plan.simulated:
        return []
    results = (_charts, _operator, _of_cloud, _programs, _validator)
    pulled, home = (
        [i for each in results for i in each(of)] for of in (plan, without_mirror(plan))
    )
    pairs = zip(pulled, home, strict=True)
    listed = {replace(image, upstream=published.repository) for image, published in pairs}
    references = {image.reference for image in listed}
    return sorted(listed | {image for image in _ahead(plan) if image.reference not in references})


def without_mirror(plan: PlatformPlan) -> PlatformPlan:
    """The same platform, with everything from where its projects publish it."""
    return replace(plan, spec=plan.spec.model_copy(update={"mirror": None}))


def _charts(plan: PlatformPlan) -> Iterator[PulledImage]:
    if plan.queueing.install:
        yield _of_chart(plan, KUEUE_CHART, KUEUE_CHART.name, "Kueue")
    if installs_autoscaler(plan.spec):
        yield _of_chart(plan, AUTOSCALER_CHART, AUTOSCALER_CHART.name, "Cluster Autoscaler")
    if dra_driver_release(plan) is not None:
        yield _of_chart(plan, DRA_DRIVER_CHART, DRA_DRIVER_PIN, "NVIDIA's DRA driver")
    if installs_karpenter(plan.spec):
        yield _of_chart(plan, KARPENTER_CHART, KARPENTER_PIN, "Karpenter")


def _of_chart(plan: PlatformPlan, chart: Chart, pin: str, of: str) -> PulledImage:
    return _published(plan, home_of(chart), chart.tag.format(plan.software[pin]), of)


def _published(plan: PlatformPlan, home: str, tag: str, of: str, adds: str = "") -> PulledImage:
    """With the digest that its project gave it, wherever it is pulled from."""
    return PulledImage(
        mirrored(plan.spec, home), tag, digest_of(home, tag), component=of, tag_suffix=adds
    )


def _of_cloud(plan: PlatformPlan) -> Iterator[PulledImage]:
    """Found in the objects: what is not made pulls nothing, and images of init containers are on the node."""
    for each in cloud_objects(plan):
        pod = each.get("spec", {}).get("template", {}).get("spec", {})
        for image in (container["image"] for container in pod.get("containers", ())):
            of = [what for name, what in _AGENTS.items() if f"/{name}:" in image]
            yield _named(image, of[0] if of else "Google's driver installer")


def _programs(plan: PlatformPlan) -> Iterator[PulledImage]:
    """Of ours, which run in an image of Python."""
    programs = (("idle reclaim", plan.idle), ("requeueing", plan.interruption))
    runs = [what for what, result in programs if result is not None]
    if runs:
        mirror = plan.spec.mirror
        yield _named(PYTHON.at(mirror.images if mirror else None), " and ".join(runs))
    if keep_warm_objects(plan):
        yield _named(pause_image(plan), "kept nodes")


def _validator(plan: PlatformPlan) -> Iterator[PulledImage]:
    if plan.validation is not None and plan.validation.checks:
        yield _named(plan.validation.image, "the check of hardware")


def _ahead(plan: PlatformPlan) -> Iterator[PulledImage]:
    """What the stack file says itself, and the pause of the pod that pulls it."""
    images = prepull_images(plan)
    if images:
        yield replace(_named(pause_image(plan), _AHEAD), upstream=PAUSE_HOME)
    for named in (_named(image, _AHEAD) for image in images):
        yield replace(named, upstream=named.repository)


def _named(image: str, of: str) -> PulledImage:
    """An image as pods name it; without a tag a registry gives the one that is called latest."""
    name, _, digest = image.partition("@")
    folder, slash, last = name.rpartition("/")
    repository, _, tag = last.partition(":")
    return PulledImage(
        f"{folder}{slash}{repository}", tag or ("" if digest else "latest"), digest, component=of
    )


def _operator(plan: PlatformPlan) -> Iterator[PulledImage]:
    parts = plan.operator
    if parts is None or not parts.install:
        return
    values = operator_values(plan, parts)
    for image in OPERATOR_IMAGES:
        if not runs(image, values, parts):
            continue
        tag = operator_tag(plan, image)
        if image.values == ("driver",) and parts.driver:
            tag = image.tag.format(parts.driver)
        adds = "the system of the node, as -ubuntu24.04" if _of_each_system(image) else ""
        yield _published(plan, image.home, tag, "GPU Operator", adds)
    yield _published(plan, NFD_IMAGE, nfd_tag(plan), "GPU Operator")


def _of_each_system(image: OperatorImage) -> bool:
    return len(image.values) == 1 and image.values[0] in OF_EACH_SYSTEM
