"""Pulumi provider plugins of the clouds, at the version whose fields gpuyard uses."""

from collections.abc import Mapping
from dataclasses import dataclass

from gpuyard_core.catalogue.sources import Source
from gpuyard_core.catalogue.tables import read_rows


@dataclass(frozen=True, slots=True)
class ProviderPlugin:
    """One Pulumi provider: its name and the required version."""

    name: str
    version: str
    source: Source


PROVIDERS: Mapping[str, ProviderPlugin] = {
    plugin.name: plugin for plugin in read_rows("provider_plugins", ProviderPlugin)
}
"""Providers by the package part of a resource type."""
