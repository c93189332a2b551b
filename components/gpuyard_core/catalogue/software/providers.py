"""Pulumi provider plugins of the clouds, at the version whose fields gpuyard uses."""

from collections.abc import Mapping
from dataclasses import dataclass

from gpuyard_core.catalogue.sources import Source, find_source


@dataclass(frozen=True, slots=True)
class ProviderPlugin:
    """One Pulumi provider: its name and the required version."""

    name: str
    version: str
    source: Source


PROVIDERS: Mapping[str, ProviderPlugin] = {
    plugin.name: plugin
    for plugin in (
        ProviderPlugin(
            "aws",
            "7.51.1",
            find_source("providers.aws"),
        ),
        ProviderPlugin(
            "gcp",
            "10.2.0",
            find_source("providers.gcp"),
        ),
    )
}
"""Providers by the package part of a resource type."""
