"""What the clouds take as a tag, which is a label on gcp: how many, how long, and of which letters."""

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date

from gpuyard.catalogue.sources import Source

_LOOKED_UP = date(2026, 11, 24)


@dataclass(frozen=True, slots=True, kw_only=True)
class TagLimits:
    """Of one cloud."""

    maximum: int
    """Of one resource."""
    reserved_by_gpuyard: int
    """Of these, what a resource may carry beside those of the stack file."""
    key: int
    """Characters of a key."""
    source: Source


TAGS: Mapping[str, TagLimits] = {
    "aws": TagLimits(
        maximum=50,
        reserved_by_gpuyard=10,
        key=128,
        source=Source(
            "models of IAM (tagKeyType, tagListType), EKS (TagMap), EFS, FSx and CloudWatch Logs in botocore 1.44.5:"
            " 50 tags, keys of 128 characters out of letters, figures, blanks and _.:/=+-@, none beginning with aws:",
            _LOOKED_UP,
            as_of=_LOOKED_UP,
        ),
    ),
    "gcp": TagLimits(
        maximum=64,
        reserved_by_gpuyard=3,
        key=63,
        source=Source(
            "GKE, creating and managing labels of clusters and node pools: 64 labels, 63 characters; pulumi-gcp"
            " adds goog-pulumi-provisioned",
            _LOOKED_UP,
            as_of=_LOOKED_UP,
        ),
    ),
}
"""By cloud. Values have 256 characters on aws, and a stack file no longer ones; on gcp they are cut."""
RESERVED = "aws:"
"""What no key begins with, in capitals or not: AWS keeps it for itself."""
_SIGNS = "_.:/=+-@"
_LETTERS = ("L", "N", "Z")
"""Of Unicode's categories: letters, figures, blanks."""


def aws_letters(text: str) -> str:
    """The text with a dash for each character that AWS takes in no tag."""
    return "".join(
        c if c in _SIGNS or unicodedata.category(c)[0] in _LETTERS else "-" for c in text
    )


def gcp_key(key: str) -> str:
    """A key in Google's letters: it begins with one, and not with what would become a dash."""
    return gcp_letters(key if re.match("[A-Za-z]", key) else f"tag-{key}")


def gcp_letters(text: str) -> str:
    """Small letters, figures, dashes and underscores."""
    return re.sub(r"[^a-z0-9_-]", "-", text.lower())[: TAGS["gcp"].key]
