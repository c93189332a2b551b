"""Component versions of each GPU Operator release, by the defaults of its chart."""

from collections.abc import Mapping
from functools import lru_cache

from gpuyard_core.catalogue.sources import find_source

OPERATOR_RELEASES = find_source("operator-releases")
_PARTS = ("driver", "toolkit", "devicePlugin", "dcgm", "dcgmExporter", "gfd", "migManager")
_TABLE = """
v1.9.0 470.82.01 1.7.2-ubuntu18.04 v0.10.0-ubi8 2.3.1-ubuntu20.04 2.3.1-2.6.0-ubuntu20.04 v0.4.1 v0.2.0-ubuntu20.04
v1.9.1 470.82.01 1.7.2-ubuntu18.04 v0.10.0-ubi8 2.3.1-ubuntu20.04 2.3.1-2.6.1-ubuntu20.04 v0.4.1 v0.2.0-ubuntu20.04
v1.10.0 510.47.03 v1.9.0-ubuntu18.04 v0.11.0-ubi8 2.3.4-1-ubuntu20.04 2.3.4-2.6.4-ubuntu20.04 v0.5.0 v0.3.0-ubuntu20.04
v1.11.0 515.48.07 v1.10.0-ubuntu20.04 v0.12.2-ubi8 2.4.5-1-ubuntu20.04 2.4.5-2.6.7-ubuntu20.04 v0.6.1-ubi8 v0.4.2-ubuntu20.04
v22.9.0 515.65.01 v1.11.0-ubuntu20.04 v0.12.3-ubi8 3.0.4-1-ubuntu20.04 3.0.4-3.0.0-ubuntu20.04 v0.6.2-ubi8 v0.5.0-ubuntu20.04
v22.9.1 525.60.13 v1.11.0-ubuntu20.04 v0.13.0-ubi8 3.1.3-1-ubuntu20.04 3.1.3-3.1.2-ubuntu20.04 v0.7.0-ubi8 v0.5.0-ubuntu20.04
v23.3.0 525.105.17 v1.13.0-ubuntu20.04 v0.14.0-ubi8 3.1.7-1-ubuntu20.04 3.1.7-3.1.4-ubuntu20.04 v0.8.0-ubi8 v0.5.2-ubuntu20.04
v23.6.0 535.86.10 v1.13.4-ubuntu20.04 v0.14.1-ubi8 3.1.8-1-ubuntu20.04 3.1.8-3.1.5-ubuntu20.04 v0.8.1-ubi8 v0.5.3-ubuntu20.04
v23.6.1 535.104.05 v1.13.4-ubuntu20.04 v0.14.1-ubi8 3.1.8-1-ubuntu20.04 3.1.8-3.1.5-ubuntu20.04 v0.8.1-ubi8 v0.5.3-ubuntu20.04
v23.9.0 535.104.12 v1.14.3-ubuntu20.04 v0.14.2-ubi8 3.2.6-1-ubuntu20.04 3.2.6-3.1.9-ubuntu20.04 v0.8.2-ubi8 v0.5.5-ubuntu20.04
v23.9.1 535.129.03 v1.14.3-ubuntu20.04 v0.14.3-ubi8 3.3.0-1-ubuntu22.04 3.3.0-3.2.0-ubuntu22.04 v0.8.2-ubi8 v0.5.5-ubuntu20.04
v23.9.2 550.54.14 v1.14.6-ubuntu20.04 v0.14.5-ubi8 3.3.0-1-ubuntu22.04 3.3.0-3.2.0-ubuntu22.04 v0.8.2-ubi8 v0.6.0-ubuntu20.04
v24.3.0 550.54.15 v1.15.0-ubuntu20.04 v0.15.0-ubi8 3.3.5-1-ubuntu22.04 3.3.5-3.4.1-ubuntu22.04 v0.15.0-ubi8 v0.7.0-ubuntu20.04
v24.6.0 550.90.07 v1.16.1-ubuntu20.04 v0.16.1-ubi8 3.3.7-1-ubuntu22.04 3.3.7-3.5.0-ubuntu22.04 v0.16.1-ubi8 v0.8.0-ubuntu20.04
v24.6.1 550.90.07 v1.16.1-ubuntu20.04 v0.16.2-ubi8 3.3.7-1-ubuntu22.04 3.3.7-3.5.0-ubuntu22.04 v0.16.2-ubi8 v0.8.0-ubuntu20.04
v24.6.2 550.90.07 v1.16.2-ubuntu20.04 v0.16.2-ubi8 3.3.7-1-ubuntu22.04 3.3.7-3.5.0-ubuntu22.04 v0.16.2-ubi8 v0.8.0-ubuntu20.04
v24.9.0 550.127.05 v1.17.0-ubuntu20.04 v0.17.0-ubi9 3.3.8-1-ubuntu22.04 3.3.8-3.6.0-ubuntu22.04 v0.17.0-ubi9 v0.10.0-ubuntu20.04
v24.9.1 550.127.08 v1.17.3-ubuntu20.04 v0.17.0 3.3.9-1-ubuntu22.04 3.3.9-3.6.1-ubuntu22.04 v0.17.0 v0.10.0-ubuntu20.04
v24.9.2 550.144.03 v1.17.4-ubuntu20.04 v0.17.0 3.3.9-1-ubuntu22.04 3.3.9-3.6.1-ubuntu22.04 v0.17.0 v0.10.0-ubuntu20.04
v25.3.0 570.124.06 v1.17.5-ubuntu20.04 v0.17.1 4.1.1-2-ubuntu22.04 4.1.1-4.0.4-ubuntu22.04 v0.17.1 v0.12.1-ubuntu20.04
v25.3.1 570.148.08 v1.17.8-ubuntu20.04 v0.17.2 4.2.3-1-ubuntu22.04 4.2.3-4.1.3-ubuntu22.04 v0.17.2 v0.12.1-ubuntu20.04
v25.3.2 570.148.08 v1.17.8-ubuntu20.04 v0.17.3 4.2.3-1-ubuntu22.04 4.2.3-4.1.3-ubuntu22.04 v0.17.3 v0.12.2-ubuntu20.04
v25.3.3 580.82.07 v1.17.8-ubuntu20.04 v0.17.4 4.3.1-1-ubuntu22.04 4.3.1-4.4.0-ubuntu22.04 v0.17.4 v0.12.3-ubuntu20.04
v25.10.0 580.95.05 v1.18.0 v0.18.0 4.4.1-2-ubuntu22.04 4.4.1-4.6.0-distroless v0.18.0 v0.13.0
v25.10.1 580.105.08 v1.18.1 v0.18.1 4.4.2-1-ubuntu22.04 4.4.2-4.7.0-distroless v0.18.1 v0.13.1
v26.3.0 580.126.20 v1.19.0 v0.19.0 4.5.2-1-ubuntu22.04 4.5.1-4.8.0-distroless v0.19.0 v0.14.0
v26.3.2 580.126.20 v1.19.1 v0.19.2 4.5.2-1-ubuntu22.04 4.5.3-4.8.2-distroless v0.19.2 v0.14.2
v26.3.3 580.126.20 v1.19.1 v0.19.3 4.5.2-1-ubuntu22.04 4.5.3-4.8.2-distroless v0.19.3 v0.14.2
v26.7.0 595.91.07 v1.20.0 v0.20.0 4.6.0-1-ubuntu24.04 4.6.0-4.8.3-distroless v0.20.0 v0.15.0
v26.7.1 595.91.07 v1.20.1 v0.20.1 4.6.1-1-ubuntu24.04 4.6.1-4.8.4-distroless v0.20.1 v0.15.1
"""
"""A release and its component versions; of releases with equal versions, the first."""
_LEAST = 3
"""The minimum number of components with versions of one release; fewer may be a user's own choice."""


@lru_cache(maxsize=1)
def operator_releases() -> Mapping[str, Mapping[str, str]]:
    """Component versions by release, and by key in the chart's values."""
    rows = (line.split() for line in _TABLE.strip().splitlines())
    return {row[0]: dict(zip(_PARTS, row[1:], strict=True)) for row in rows}


def closest_release(versions: Mapping[str, str]) -> Mapping[str, str]:
    """The versions of the release that matches most of these; empty if none does."""

    def alike(brought: Mapping[str, str]) -> int:
        return sum(versions.get(part) == version for part, version in brought.items())

    best = max(operator_releases().values(), key=alike)
    return best if alike(best) >= _LEAST else {}
