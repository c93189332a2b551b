"""Every image that a platform's pods pull: by digest if the catalogue has one, otherwise by tag.

Images of charts are known from the charts' own values. Images that a cloud puts on its nodes itself
are not included, and neither are images of teams.
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
from gpuyard.render.gpu_operator.values import nfd_tag, operator_tag, operator_values, uses_image
from gpuyard.render.mirror import mirrored, upstream_image_repository
from gpuyard.render.platform import cloud_objects
from gpuyard.render.scaling.keep_warm import keep_warm_objects
from gpuyard.render.supply.prepull import pause_image, prepull_images

_AGENTS = {
    EFA_PLUGIN.name: "EFA's device plugin",
    RDMA_PLUGIN.name: "the RDMA device plugin",
}
_AHEAD = "image pre-pull"
OF_EACH_SYSTEM = frozenset({"driver", "gdrcopy"})
"""Components of the operator with one image per operating system: it appends the name to the
tag."""


@dataclass(frozen=True, slots=True, order=True)
class PulledImage:
    """One image, as nodes pull it."""

    repository: str
    tag: str
    """Empty if it is set by a chart version unknown to gpuyard."""
    digest: str = ""
    """Empty if no published digest is known: the owner of the tag may change the image."""
    component: str = ""
    """The component of the platform that pulls it."""
    tag_suffix: str = ""
    """Description of the suffix that each node appends to the tag."""
    upstream: str = ""
    """The repository of its project; for images of the stack file, the repository given there."""

    @property
    def reference(self) -> str:
        """The reference for a registry."""
        tag = f":{self.tag}" if self.tag else ""
        return f"{self.repository}{tag}" + (f"@{self.digest}" if self.digest else "")

    @property
    def why_by_tag(self) -> str:
        """The reason why the image has no digest."""
        if self.digest:
            return ""
        if not self.tag:
            return "its chart sets the version, and gpuyard does not know that chart"
        return BY_TAG.get(self.upstream, "no published digest of this version is known")


def pulled_images(plan: PlatformPlan) -> list[PulledImage]:
    """Each image once, by name; none on a simulated cluster, whose nodes run nothing."""
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
    """The same platform with images and charts from their projects' registries."""
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
    return _published(
        plan, upstream_image_repository(chart), chart.tag.format(plan.software[pin]), of
    )


def _published(plan: PlatformPlan, home: str, tag: str, of: str, adds: str = "") -> PulledImage:
    """With the digest that its project published, wherever it is pulled from."""
    return PulledImage(
        mirrored(plan.spec, home), tag, digest_of(home, tag), component=of, tag_suffix=adds
    )


def _of_cloud(plan: PlatformPlan) -> Iterator[PulledImage]:
    """Read from the rendered objects; images of init containers are on the node already."""
    for each in cloud_objects(plan):
        pod = each.get("spec", {}).get("template", {}).get("spec", {})
        for image in (container["image"] for container in pod.get("containers", ())):
            of = [what for name, what in _AGENTS.items() if f"/{name}:" in image]
            yield _named(image, of[0] if of else "Google's driver installer")


def _programs(plan: PlatformPlan) -> Iterator[PulledImage]:
    """The agents of gpuyard, which run in a Python image."""
    programs = (("idle reclaim", plan.idle), ("requeueing", plan.interruption))
    runs = [what for what, result in programs if result is not None]
    if runs:
        mirror = plan.spec.mirror
        yield _named(PYTHON.image_reference(mirror.images if mirror else None), " and ".join(runs))
    if keep_warm_objects(plan):
        yield _named(pause_image(plan), "keep-warm nodes")


def _validator(plan: PlatformPlan) -> Iterator[PulledImage]:
    if plan.validation is not None and plan.validation.checks_any_node:
        yield _named(plan.validation.image, "hardware validation")


def _ahead(plan: PlatformPlan) -> Iterator[PulledImage]:
    """Images of the stack file, and the pause image of the pod that pulls them."""
    images = prepull_images(plan)
    if images:
        yield replace(_named(pause_image(plan), _AHEAD), upstream=PAUSE_HOME)
    for named in (_named(image, _AHEAD) for image in images):
        yield replace(named, upstream=named.repository)


def _named(image: str, of: str) -> PulledImage:
    """An image as pods name it; without a tag, registries use `latest`."""
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
        if not uses_image(image, values, parts):
            continue
        tag = operator_tag(plan, image)
        if image.values == ("driver",) and parts.driver:
            tag = image.tag.format(parts.driver)
        adds = "the operating system of the node, as -ubuntu24.04" if _of_each_system(image) else ""
        yield _published(plan, image.home, tag, "GPU Operator", adds)
    yield _published(plan, NFD_IMAGE, nfd_tag(plan), "GPU Operator")


def _of_each_system(image: OperatorImage) -> bool:
    return len(image.values) == 1 and image.values[0] in OF_EACH_SYSTEM
