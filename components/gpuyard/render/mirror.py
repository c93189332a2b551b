"""Mirrors of charts and images: the project's own registry, or the stack file's mirror.

A mirror keeps the paths of what it copies, as registry copy tools do: `kueue/kueue` of the
project's registry is `<mirror.images>/kueue/kueue`. Under `mirror.charts` each chart has its own
name, in a registry (`oci://…`) or in a folder, which needs no network at all.
"""

from dataclasses import replace

from gpuyard.plan.records import PlatformPlan
from gpuyard.spec.platform import PlatformSpec
from gpuyard_core.catalogue.software.charts import Chart

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


def without_mirror(plan: PlatformPlan) -> PlatformPlan:
    """The same platform with images and charts from their projects' registries."""
    return replace(plan, spec=plan.spec.model_copy(update={"mirror": None}))


def mirrored(spec: PlatformSpec, image: str) -> str:
    """An image, or a prefix of several, as nodes pull it."""
    if spec.mirror is None:
        return image
    return f"{spec.mirror.images.rstrip('/')}/{image.partition('/')[2]}"
