"""Mirrors of charts and images: the project's own registry, or the stack file's mirror.

A mirror keeps the paths of what it copies, as tools that copy registries do: `kueue/kueue` of the
project's registry is `<mirror.images>/kueue/kueue`. Under `mirror.charts` each chart lies by its own
name, in a registry (`oci://…`) or in a folder, which needs no network at all.
"""

from gpuyard.catalogue.software.charts import Chart
from gpuyard.spec.platform import PlatformSpec

OCI = "oci://"


def chart_location(spec: PlatformSpec, chart: Chart) -> str:
    """The chart as Helm is given it: `oci://…`, or the path of a folder or archive."""
    if spec.mirror is None:
        return f"{OCI}{chart.registry}/{chart.path}"
    if spec.mirror.charts is None:
        return f"{OCI}{spec.mirror.images.rstrip('/')}/{chart.path}"
    return f"{spec.mirror.charts.rstrip('/')}/{chart.name}"


def is_remote(location: str) -> bool:
    """Whether Helm has to fetch the chart; the version of a local one is what it says itself."""
    return "://" in location


def image_repository(spec: PlatformSpec, chart: Chart) -> str:
    """Where nodes pull the chart's image from, without its tag."""
    registry = chart.registry if spec.mirror is None else spec.mirror.images.rstrip("/")
    return f"{registry}/{chart.image}"
