"""Versions of drivers, images and charts, compared the way their makers count."""

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
    """Without zeros at the end: 1.17 is 1.17.0."""
    released: bool
    """False for a release candidate and its like, which come before the release itself."""


def parse_version(component: str, text: str) -> Version:
    """Read `580.159.03`, `v1.20.0`, `4.6.0-1` or `1.20.0-rc.1`; ValueError when it is none.

    An image of the DCGM exporter is tagged with DCGM's version and then its own, `4.6.0-4.8.3`: its own
    counts. What else follows a dash says how it was packaged (`-1`, `-distroless`).
    """
    if component == "dcgm-exporter" and (both := _EXPORTER.fullmatch(text)):
        text = both["own"]
    read = _VERSION.fullmatch(text)
    if read is None:
        raise ValueError(f"{text!r} is no version of {component}")
    numbers = [int(part) for part in read["numbers"].split(".")]
    while len(numbers) > 1 and numbers[-1] == 0:
        numbers.pop()
    return Version(tuple(numbers), _BEFORE.match(read["rest"]) is None)


def is_version(component: str, text: str) -> bool:
    """True for what can be compared."""
    try:
        parse_version(component, text)
    except ValueError:
        return False
    return True
