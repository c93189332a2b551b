"""A chart that a platform installs: which, where from, and with what values."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gpuyard.render.objects import Object, managed_object
from gpuyard.render.text import yaml_text


@dataclass(frozen=True, slots=True)
class Release:
    """What Helm is asked to install."""

    name: str
    namespace: str
    """Made by an object of ours, so that it has our labels and goes with the platform."""
    chart: str
    """`oci://…`, a name in `repository`, or a folder or archive."""
    version: str
    values: Mapping[str, Any]
    """May hold late values."""
    repository: str = ""
    """Whose index lists the chart; empty where `chart` says all."""

    @property
    def identity(self) -> dict[str, str]:
        """All but the values, by the words that people know."""
        return {
            "release": self.name,
            "namespace": self.namespace,
            "chart": self.chart,
            "version": self.version,
            **({"repository": self.repository} if self.repository else {}),
        }

    @property
    def is_remote(self) -> bool:
        """Whether Helm has to fetch the chart; the version of a local one is what it says itself."""
        return bool(self.repository) or "://" in self.chart


def release_object(owner: str, name: str, release: Release) -> Object:
    """A chart as an object, where objects become files: Flux can take its values from here."""
    data = {"values.yaml": yaml_text(dict(release.values)), **release.identity}
    return managed_object(owner, "v1", "ConfigMap", name, namespace=release.namespace, data=data)


def is_release(value: Any) -> bool:
    """True for what `release.yaml` says of a release: its words, and no others."""
    words = {"release", "namespace", "chart", "version"}
    return isinstance(value, Mapping) and set(value) - {"repository"} == words


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
