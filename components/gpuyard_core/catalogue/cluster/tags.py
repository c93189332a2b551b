"""Tags that the clouds accept (labels on gcp): their number, length and characters."""

import re
import unicodedata
from dataclasses import dataclass

from gpuyard_core.catalogue.sources import Source
from gpuyard_core.catalogue.tables import read_keyed


@dataclass(frozen=True, slots=True, kw_only=True)
class TagLimits:
    """The limits of one cloud."""

    maximum: int
    """Tags of one resource."""
    reserved_by_gpuyard: int
    """How many of these gpuyard needs in addition to those of the stack file."""
    key: int
    """Maximum characters of a key."""
    source: Source


_LIMITS = dict(read_keyed("tag_limits", TagLimits))
AWS_TAGS, GCP_TAGS = _LIMITS["aws"], _LIMITS["gcp"]
"""Values may have 256 characters on aws and in a stack file; on gcp they are truncated."""
RESERVED = "aws:"
"""The prefix that AWS reserves, in any letter case."""
_SIGNS = "_.:/=+-@"
_LETTERS = ("L", "N", "Z")
"""Unicode categories of letters, digits and spaces."""


def aws_letters(text: str) -> str:
    """The text with a dash for each character that AWS does not accept in a tag."""
    return "".join(
        c if c in _SIGNS or unicodedata.category(c)[0] in _LETTERS else "-" for c in text
    )


def gcp_key(key: str) -> str:
    """The key in characters that Google Cloud accepts; it begins with a letter."""
    return gcp_letters(key if re.match("[A-Za-z]", key) else f"tag-{key}")


def gcp_letters(text: str) -> str:
    """The text in lower-case letters, digits, dashes and underscores."""
    return re.sub(r"[^a-z0-9_-]", "-", text.lower())[: GCP_TAGS.key]
