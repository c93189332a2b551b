"""Mirrors of charts and images: the project's own registry, or the stack file's mirror.

A mirror keeps the paths of what it copies, as tools that copy registries do: `kueue/kueue` of the
project's registry is `<mirror.images>/kueue/kueue`. Under `mirror.charts` each chart lies by its own
name, in a registry (`oci://…`) or in a folder, which needs no network at all.
"""

from gpuyard.catalogue.software.charts import Chart
from gpuyard.catalogue.software.digests import pinned
from gpuyard.spec.platform import PlatformSpec

OCI = "oci://"


def chart_location(spec: PlatformSpec, chart: Chart) -> str:
    """The chart as Helm is given it: `oci://…`, its name in a repository, or a folder or archive."""
    if spec.mirror is None:
        return chart.name if chart.repository else f"{OCI}{chart.registry}/{chart.path}"
    if spec.mirror.charts is None:
        return f"{OCI}{spec.mirror.images.rstrip('/')}/{chart.path}"
    return f"{spec.mirror.charts.rstrip('/')}/{chart.name}"


def chart_repository(spec: PlatformSpec, chart: Chart) -> str:
    """The repository whose index lists the chart; empty where its location says all."""
    return chart.repository if spec.mirror is None else ""


def image_repository(spec: PlatformSpec, chart: Chart) -> str:
    """Where nodes pull the chart's image from, without its tag."""
    return mirrored(spec, home_of(chart))


def home_of(chart: Chart) -> str:
    """Where the project publishes the chart's image, without its tag."""
    return f"{chart.registry}/{chart.image}"


def image_tag(chart: Chart, version: str) -> str:
    """The tag of the chart's image at a version, with the digest that it stood for where that is known.

    A mirror that copies an image whole keeps its digest, so that it is the same in both places.
    """
    return pinned(home_of(chart), chart.tag.format(version))


def mirrored(spec: PlatformSpec, image: str) -> str:
    """An image, or the place of several, as nodes are told it."""
    if spec.mirror is None:
        return image
    return f"{spec.mirror.images.rstrip('/')}/{image.partition('/')[2]}"
