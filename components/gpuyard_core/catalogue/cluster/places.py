"""Existing regions: an unknown name in the right format would fail in the middle of a deployment."""

from functools import cache

from gpuyard_core.catalogue.lists import find_list
from gpuyard_core.catalogue.regions import listed_regions

_ROW_OF_GCP = "us-central1"
"""The region of the machine rows, which is not in the list of other regions (places.gcp-regions)."""


@cache
def region_names(cloud: str) -> frozenset[str]:
    """All regions of a cloud, including those of other partitions."""
    return frozenset(
        find_list("aws-regions") if cloud == "aws" else {*listed_regions("gcp"), _ROW_OF_GCP}
    )
