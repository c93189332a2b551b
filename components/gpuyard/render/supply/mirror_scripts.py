"""The contents of a mirror as a script: it copies images and charts from their registries.

Images are copied with every architecture, so that the digests that nodes request stay the same.
"""

from dataclasses import dataclass, replace
from enum import StrEnum

from gpuyard.plan.records import PlatformPlan
from gpuyard.render.charts import Release
from gpuyard.render.mirror import OCI, without_mirror
from gpuyard.render.platform import releases
from gpuyard.render.pulled_image import PulledImage
from gpuyard.render.supply.images import pulled_images
from gpuyard_core.catalogue.software.digests import digest_of

SYSTEMS = "NODE_SYSTEMS"
"""The variable with the operating systems of nodes, each of which has its own image."""


class Copier(StrEnum):
    """A program that copies images from registry to registry."""

    SKOPEO = "skopeo"
    CRANE = "crane"


_COPY = {
    Copier.SKOPEO: "skopeo copy --all --preserve-digests docker://{} docker://{}",
    Copier.CRANE: "crane copy {} {}",
}


@dataclass(frozen=True, slots=True, order=True)
class PulledChart:
    """One chart, as Helm expects it."""

    name: str
    version: str
    chart: str
    """`oci://…`, its name in `repository`, or a folder."""
    repository: str
    """The repository that lists it; empty if `chart` is a full location."""
    digest: str
    """Digest of the artifact; empty if no published digest is known."""
    upstream: str
    """`chart` as its project publishes it."""
    upstream_repository: str


def pulled_charts(plan: PlatformPlan) -> list[PulledChart]:
    """Every chart that Helm installs, by name."""
    if plan.simulated:
        return []
    pulled, home = releases(plan), releases(without_mirror(plan))
    return sorted(_pulled(release, home[group]) for group, release in pulled.items())


def _pulled(release: Release, home: Release) -> PulledChart:
    digest = digest_of(home.chart.removeprefix(OCI), home.version)
    return PulledChart(
        name=home.name,
        version=home.version,
        chart=release.chart,
        repository=release.repository,
        digest=digest,
        upstream=home.chart,
        upstream_repository=home.repository,
    )


def copy_script(plan: PlatformPlan, copier: Copier) -> str:
    """A shell script that needs access to both registries; repeated runs copy nothing twice."""
    images = [image for image in pulled_images(plan) if image.upstream != image.repository]
    charts = [chart for chart in pulled_charts(plan) if chart.upstream != chart.chart]
    lines = [
        "#!/bin/sh",
        f"# Copies the images and charts of {plan.name} into its mirror.",
        "set -eu",
    ]
    for image in images:
        lines += _image(image, copier)
    for chart in charts:
        lines += _chart(chart)
    return "\n".join(lines) + "\n"


def _image(image: PulledImage, copier: Copier) -> list[str]:
    if not image.tag:
        return [
            (f"# {image.upstream}: {image.why_by_tag}; copy the image that `helm template` shows.")
        ]
    if image.tag_suffix:
        by_system = replace(image, tag=f"{image.tag}-$system", tag_suffix="")
        what = (
            f"{image.upstream}:{image.tag}-SYSTEM, for nodes on which the GPU Operator installs it"
        )
        return [
            f"# {what}: {SYSTEMS} lists them, such as ubuntu24.04",
            f"for system in ${{{SYSTEMS}:?}}; do",
            f"  {_copy(by_system, copier)}",
            "done",
        ]
    return [_copy(image, copier)]


def _copy(image: PulledImage, copier: Copier) -> str:
    """Copies by digest: a tag may have moved since. No tool accepts a tag and a digest at once."""
    source = f"{image.upstream}@{image.digest}" if image.digest else f"{image.upstream}:{image.tag}"
    return _COPY[copier].format(source, f"{image.repository}:{image.tag}")


def _chart(chart: PulledChart) -> list[str]:
    where = f" --repo {chart.upstream_repository}" if chart.upstream_repository else ""
    pull = f"helm pull {chart.upstream}{where} --version {chart.version}"
    if not chart.chart.startswith(OCI):
        folder = chart.chart.rpartition("/")[0]
        return [f"{pull} --untar --untardir {folder}"]
    place = chart.chart.rpartition("/")[0]
    return [pull, f"helm push {chart.name}-{chart.version}.tgz {place}"]
