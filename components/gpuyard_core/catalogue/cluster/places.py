"""Existing regions: an unknown name in the right format would fail in the middle of a deployment."""

from functools import cache

from gpuyard_core.catalogue.regions import listed_regions
from gpuyard_core.catalogue.sources import find_source

REGION_LISTS = (
    find_source("places.aws-regions"),
    find_source("places.gcp-regions"),
)  # fmt: skip
_AWS = """
af-south-1 ap-east-1 ap-east-2 ap-northeast-1 ap-northeast-2 ap-northeast-3 ap-south-1 ap-south-2 ap-southeast-1
ap-southeast-2 ap-southeast-3 ap-southeast-4 ap-southeast-5 ap-southeast-6 ap-southeast-7 ca-central-1 ca-west-1
eu-central-1 eu-central-2 eu-north-1 eu-south-1 eu-south-2 eu-west-1 eu-west-2 eu-west-3 il-central-1 me-central-1
me-south-1 mx-central-1 sa-east-1 us-east-1 us-east-2 us-west-1 us-west-2
cn-north-1 cn-northwest-1 us-gov-east-1 us-gov-west-1
us-iso-east-1 us-iso-west-1 us-isob-east-1 us-isob-west-1 eu-isoe-west-1 us-isof-east-1 us-isof-south-1
eusc-de-east-1
"""
_ROW_OF_GCP = "us-central1"
"""The region of the machine rows, which is not in the list of other regions."""


@cache
def region_names(cloud: str) -> frozenset[str]:
    """All regions of a cloud, including those of other partitions."""
    return frozenset(_AWS.split() if cloud == "aws" else {*listed_regions("gcp"), _ROW_OF_GCP})
