"""Mirrors of charts and images: the project's own registry, or the stack file's mirror.

A mirror keeps the paths of what it copies, as registry copy tools do: `kueue/kueue` of the
project's registry is `<mirror.images>/kueue/kueue`. Under `mirror.charts` each chart has its own
name, in a registry (`oci://…`) or in a folder, which needs no network at all.
"""

from gpuyard.catalogue.software.charts import Chart
from gpuyard.catalogue.software.digests import pinned_image_reference
from gpuyard.spec.platform import PlatformSpec

OCI = "oci://"


def chart_location(spec: PlatformSpec, chart: Chart) -> str:
    """The chart as Helm expects it: `oci://…`, its name in a repository, or a folder or archive."""
    if spec.mirror is None:
        return chart.name if chart.repository else f"{OCI}{chart.registry}/{chart.path}"
    if spec.mirror.charts is None:
        return f"{OCI}{spec.mirror.images.rstrip('/')}/{chart.path}"
    return f"{spec.mirror.charts.rstrip('/')}/{chart.name}"


def chart_repository(spec: PlatformSpec, chart: Chart) -> str:
    """The repository whose index lists the chart; empty if its location is complete."""
    return chart.repository if spec.mirror is None else ""


def image_repository(spec: PlatformSpec, chart: Chart) -> str:
    """The repository from which nodes pull the chart's image, without a tag."""
    return mirrored(spec, upstream_image_repository(chart))


def upstream_image_repository(chart: Chart) -> str:
    """The repository in which the project publishes the chart's image, without a tag."""
    return f"{chart.registry}/{chart.image}"


def image_tag(chart: Chart, version: str) -> str:
    """The tag of the chart's image at a version, with its known digest, if any.

    A mirror that copies a complete image keeps its digest, so that it is the same in both
    registries.
    """
    return pinned_image_reference(upstream_image_repository(chart), chart.tag.format(version))


def mirrored(spec: PlatformSpec, image: str) -> str:
    """An image, or a prefix of several, as nodes pull it."""
    if spec.mirror is None:
        return image
    return f"{spec.mirror.images.rstrip('/')}/{image.partition('/')[2]}"
