"""A chart that a platform installs: which, where from, and with what values."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gpuyard.render.mirror import is_remote
from gpuyard.render.text import yaml_text


@dataclass(frozen=True, slots=True)
class Release:
    """What Helm is asked to install."""

    name: str
    namespace: str
    """Made by an object of ours, so that it has our labels and goes with the platform."""
    chart: str
    """`oci://…`, or a folder or archive."""
    version: str
    values: Mapping[str, Any]
    """May hold late values."""

    @property
    def identity(self) -> dict[str, str]:
        """All but the values, by the words that people know."""
        return {
            "release": self.name,
            "namespace": self.namespace,
            "chart": self.chart,
            "version": self.version,
        }


def is_release(value: Any) -> bool:
    """True for what `release.yaml` says of a release: its words, and no others."""
    return isinstance(value, Mapping) and set(value) == {"release", "namespace", "chart", "version"}


def release_text(release: Release) -> dict[str, str]:
    """A release as two plain files, for `helm` and for any tool that installs charts from a repository."""
    version = f" --version {release.version}" if is_remote(release.chart) else ""
    command = (
        f"# helm upgrade --install {release.name} {release.chart}{version} \\\n"
        f"#   --namespace {release.namespace} --values values.yaml --wait\n"
    )
    return {
        "release.yaml": command + yaml_text(release.identity),
        "values.yaml": command + yaml_text(dict(release.values)),
    }
