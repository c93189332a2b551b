"""Plugins of the Pulumi engine that make a cloud's resources, at the version whose fields our graphs have."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date

from gpuyard.catalogue.sources import Source


@dataclass(frozen=True, slots=True)
class ProviderPlugin:
    """One provider of the engine: what it is called there, and which version is asked for."""

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
"""By the first word of a resource's type."""
