"""Component versions of each GPU Operator release, by the defaults of its chart."""

import csv
from collections.abc import Mapping
from functools import lru_cache

from gpuyard_core.catalogue.tables import FOLDER

_LEAST = 3
"""The minimum number of components with versions of one release; fewer may be a user's own choice
(operator-releases)."""


@lru_cache(maxsize=1)
def operator_releases() -> Mapping[str, Mapping[str, str]]:
    """Component versions by release, and by key in the chart's values; of releases with equal versions, the first."""
    with (FOLDER / "operator_releases.csv").open(encoding="utf-8", newline="") as file:
        return {row.pop("release"): row for row in csv.DictReader(file)}


def closest_release(versions: Mapping[str, str]) -> Mapping[str, str]:
    """The versions of the release that matches most of these; empty if none does."""

    def alike(brought: Mapping[str, str]) -> int:
        return sum(versions.get(part) == version for part, version in brought.items())

    best = max(operator_releases().values(), key=alike)
    return best if alike(best) >= _LEAST else {}
