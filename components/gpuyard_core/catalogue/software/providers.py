"""Pulumi provider plugins of the clouds, at the version whose fields gpuyard uses."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date

from gpuyard_core.catalogue.sources import Source


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
            Source(
                "PyPI pulumi-aws 7.51.1, built 2026-10-16",
                date(2026, 11, 21),
                as_of=date(2026, 10, 16),
            ),
        ),
        ProviderPlugin(
            "gcp",
            "10.2.0",
            Source(
                "PyPI pulumi-gcp 10.2.0, built 2026-10-20",
                date(2026, 11, 21),
                as_of=date(2026, 10, 20),
            ),
        ),
    )
}
"""Providers by the package part of a resource type."""
