"""Versions of drivers, images and charts, compared by the rules of their projects."""

import re
from typing import NamedTuple

_BEFORE = re.compile(r"[-.]?(?:rc|alpha|beta|dev|pre)", re.IGNORECASE)
_VERSION = re.compile(
    rf"v?(?P<numbers>\d+(?:\.\d+)*)(?P<rest>(?:[-+].+|{_BEFORE.pattern}.*)?)", re.IGNORECASE
)
_EXPORTER = re.compile(r"v?\d+(?:\.\d+)+-(?P<own>\d+(?:\.\d+)+.*)")


class Version(NamedTuple):
    """A version that can be compared with others of the same component."""

    numbers: tuple[int, ...]
    """Without trailing zeros: 1.17 equals 1.17.0."""
    released: bool
    """False for release candidates and other pre-releases, which precede the release."""


def parse_version(component: str, text: str) -> Version:
    """Parse `580.159.03`, `v1.20.0`, `4.6.0-1` or `1.20.0-rc.1`; ValueError if it is not a version.

    A DCGM Exporter image is tagged with DCGM's version and then its own, `4.6.0-4.8.3`: its own counts. Other
    suffixes after a dash describe the packaging (`-1`, `-distroless`).
    """
    if component == "dcgm-exporter" and (both := _EXPORTER.fullmatch(text)):
        text = both["own"]
    read = _VERSION.fullmatch(text)
    if read is None:
        raise ValueError(f"{text!r} is not a version of {component}")
    numbers = [int(part) for part in read["numbers"].split(".")]
    while len(numbers) > 1 and numbers[-1] == 0:
        numbers.pop()
    return Version(tuple(numbers), _BEFORE.match(read["rest"]) is None)


def is_version(component: str, text: str) -> bool:
    """Whether the text can be parsed and compared."""
    try:
        parse_version(component, text)
    except ValueError:
        return False
    return True
