"""Images and charts of a platform as a software bill of materials: CycloneDX 1.6.

The document has no time stamp and no serial number, so that the same stack file gives the same bytes.
"""

from collections.abc import Iterable, Sequence
from typing import Any
from urllib.parse import quote

from gpuyard.plan.records import PlatformPlan
from gpuyard.render.mirror import OCI
from gpuyard.render.pulled_image import PulledImage
from gpuyard.render.supply.images import pulled_images
from gpuyard.render.supply.mirror_scripts import PulledChart, pulled_charts


def bill_of_materials(
    subject: dict[str, Any], parts: Sequence[dict[str, Any]], version: str
) -> dict[str, Any]:
    """A CycloneDX document of a component and its parts, written by this version of gpuyard."""
    tool = {"type": "application", "name": "gpuyard", "version": version}
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"tools": {"components": [tool]}, "component": subject},
        "components": sorted(parts, key=lambda each: str(each["bom-ref"])),
    }


def platform_bill_of_materials(plan: PlatformPlan, version: str) -> dict[str, Any]:
    """The images and charts that a platform pulls."""
    images: dict[str, list[PulledImage]] = {}
    for image in pulled_images(plan):
        images.setdefault(image.reference, []).append(image)
    parts = [_image(each) for each in images.values()] + [_chart(c) for c in pulled_charts(plan)]
    subject = {"type": "platform", "name": plan.name, "bom-ref": plan.name}
    return bill_of_materials(subject, parts, version)


def _image(same: Sequence[PulledImage]) -> dict[str, Any]:
    image = same[0]
    url = _package_url("oci", image.repository, image.digest, image.tag)
    reasons = [("why_by_tag", image.why_by_tag), ("tag_suffix", image.tag_suffix)]
    return _component(
        "container",
        image.repository,
        image.digest or image.tag,
        url,
        [("component", each.component) for each in same] + reasons,
    )


def _chart(chart: PulledChart) -> dict[str, Any]:
    name = chart.chart.removeprefix(OCI)
    if name != chart.chart:
        url = _package_url("oci", name, chart.digest, chart.version)
    else:
        url = f"pkg:helm/{quote(name)}@{quote(chart.version)}?repository_url={_value(chart.repository)}"
    return _component("application", name, chart.version, url, [("digest", chart.digest)])


def _package_url(kind: str, repository: str, digest: str, tag: str) -> str:
    name = repository.rpartition("/")[2].lower()
    version = f"@{quote(digest, safe=':')}" if digest else ""
    qualifiers = f"repository_url={_value(repository.lower())}"
    return f"pkg:{kind}/{quote(name)}{version}?{qualifiers}" + (
        f"&tag={_value(tag)}" if tag else ""
    )


def _value(text: str) -> str:
    return quote(text, safe="/:")


def _component(
    kind: str, name: str, version: str, url: str, properties: Iterable[tuple[str, str]]
) -> dict[str, Any]:
    component: dict[str, Any] = {
        "type": kind,
        "bom-ref": url,
        "name": name,
        "version": version,
        "purl": url,
    }
    if given := [{"name": f"gpuyard:{key}", "value": value} for key, value in properties if value]:
        component["properties"] = given
    return component
