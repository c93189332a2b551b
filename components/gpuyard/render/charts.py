"""A chart that a platform installs: location, version and values."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from gpuyard.plan.records import PlatformPlan
from gpuyard.render.mirror import chart_location, chart_repository
from gpuyard.render.objects import Object, managed_object
from gpuyard.render.pulled_image import PulledImage, chart_image
from gpuyard.render.text import yaml_text
from gpuyard_core.catalogue.software.charts import Chart


@dataclass(frozen=True, slots=True)
class Release:
    """One Helm release."""

    name: str
    namespace: str
    """Namespace, created as a gpuyard object, so that it has gpuyard's labels and is deleted with
    it."""
    chart: str
    """`oci://…`, a name in `repository`, or a folder or archive."""
    version: str
    values: Mapping[str, Any]
    """May contain late values."""
    repository: str = ""
    """The repository that lists the chart; empty if `chart` is a full location."""
    image: PulledImage | None = None
    """The image that the chart runs."""

    @property
    def identity(self) -> dict[str, str]:
        """All fields except the values, by their usual names."""
        return {
            "release": self.name,
            "namespace": self.namespace,
            "chart": self.chart,
            "version": self.version,
            **({"repository": self.repository} if self.repository else {}),
        }

    @property
    def is_remote(self) -> bool:
        """Whether Helm must download the chart; a local chart has its own version."""
        return bool(self.repository) or "://" in self.chart


def chart_release(
    plan: PlatformPlan, chart: Chart, namespace: str, values: Mapping[str, Any]
) -> Release:
    """A release of a chart of the catalogue, from its project's registry or the mirror."""
    return Release(
        name=chart.name,
        namespace=namespace,
        chart=chart_location(plan.spec, chart),
        version=chart.version.format(plan.software[chart.pin]),
        values=values,
        repository=chart_repository(plan.spec, chart),
        image=chart_image(plan, chart) if chart.image else None,
    )


def release_object(owner: str, release: Release, name: str = "") -> Object:
    """A chart as an object in rendered files: Flux can read its values from it."""
    name = f"gpuyard-{name or release.name}-release"
    data = {"values.yaml": yaml_text(dict(release.values)), **release.identity}
    return managed_object(owner, "v1", "ConfigMap", name, namespace=release.namespace, data=data)


def release_text(release: Release) -> dict[str, str]:
    """A release as two plain files, for `helm` and for any tool that installs charts from a repository."""
    where = f" --repo {release.repository}" if release.repository else ""
    version = f" --version {release.version}" if release.is_remote else ""
    command = (
        f"# helm upgrade --install {release.name} {release.chart}{where}{version} \\\n"
        f"#   --namespace {release.namespace} --values values.yaml --wait\n"
    )
    return {
        "release.yaml": command + yaml_text(release.identity),
        "values.yaml": command + yaml_text(dict(release.values)),
    }


def merge_values(values: dict[str, Any], path: Iterable[str], more: Mapping[str, Any]) -> None:
    """Set values below a path; mappings in both are merged."""
    for key in path:
        values = values.setdefault(key, {})
    for key, value in more.items():
        if isinstance(value, Mapping) and isinstance(values.get(key), dict):
            merge_values(values[key], (), value)
        else:
            values[key] = value
