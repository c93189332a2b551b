"""What a mirror must hold, as a script: each image and chart, from where it is published to its place there.

Whole images are copied, every architecture of them, so that their digests stay: nodes ask for those.
"""

from dataclasses import dataclass, replace
from enum import StrEnum

from gpuyard.catalogue.software.digests import digest_of
from gpuyard.plan.records import PlatformPlan
from gpuyard.render.charts import Release
from gpuyard.render.files import releases
from gpuyard.render.mirror import OCI
from gpuyard.render.supply.images import PulledImage, pulled_images, without_mirror

SYSTEMS = "NODE_SYSTEMS"
"""The variable that says for which systems of nodes there is an image each."""


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
    """One chart, as Helm is told it."""

    name: str
    version: str
    chart: str
    """`oci://…`, its name in `repository`, or a folder."""
    repository: str
    """Whose index lists it; empty where `chart` says all."""
    digest: str
    """Of the artifact; empty where nobody has published one that we have seen."""
    upstream: str
    """`chart` where its project publishes it."""
    upstream_repository: str


def pulled_charts(plan: PlatformPlan) -> list[PulledChart]:
    """Every chart that Helm is asked to install, by name."""
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
    """For a shell, with access to both places; running it again copies nothing twice."""
    images = [image for image in pulled_images(plan) if image.upstream != image.repository]
    charts = [chart for chart in pulled_charts(plan) if chart.upstream != chart.chart]
    lines = ["#!/bin/sh", f"# What {plan.name} pulls, into its mirror.", "set -eu"]
    for image in images:
        lines += _image(image, copier)
    for chart in charts:
        lines += _chart(chart)
    return "\n".join(lines) + "\n"


def _image(image: PulledImage, copier: Copier) -> list[str]:
    if not image.tag:
        return [f"# {image.upstream}: {image.why_by_tag}; copy the one that `helm template` names."]
    if image.tag_suffix:
        by_system = replace(image, tag=f"{image.tag}-$system", tag_suffix="")
        what = f"{image.upstream}:{image.tag}-SYSTEM, for nodes where the operator brings it"
        return [
            f"# {what}: {SYSTEMS} says which, such as ubuntu24.04",
            f"for system in ${{{SYSTEMS}:?}}; do",
            f"  {_copy(by_system, copier)}",
            "done",
        ]
    return [_copy(image, copier)]


def _copy(image: PulledImage, copier: Copier) -> str:
    """From its digest: a tag may have moved since. No tool takes a tag and a digest at once."""
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
