"""Image tags that move to the newest build: `latest`, a branch, a channel, a daily build."""

import re

_BRANCHES = (
    *("nightly", "main", "master", "trunk", "edge", "dev", "devel", "develop", "canary"),
    *("unstable", "rolling", "stable", "release"),
)
_VARIANTS = (
    *("cuda", "cu", "gpu", "nvidia", "tensorrt", "amd64", "arm64", "x86_64", "aarch64"),
    *("slim", "full", "base", "runtime", "server", "openai", "aio", "all", "ubuntu", "debian"),
)
_NUMBER = r"\d{0,3}(?:\.\d{1,2}){0,2}"
_VARIANT = rf"(?:[-_.](?:{'|'.join(_VARIANTS)})[-_]?{_NUMBER})"
_BRANCH = re.compile(rf"(?:(?:{'|'.join(_VARIANTS)})[-_.])?(?:{'|'.join(_BRANCHES)}){_VARIANT}*")
_LATEST = re.compile(r"(?:.*[-_.])?latest(?:[-_.].*)?")
_FIXED = re.compile(
    r"(?:^|[-_.])(?:v?\d+\.\d+\.\d+|\d{6,14}|(?=[a-f]*\d)[0-9a-f]{7,40}|b\d{3,6})(?:[-_.]|$)"
)
"""Part of a version, a date or a commit: a tag with one is pushed once."""
_DAILY = re.compile(r"(?:.*/)?(?:ggml-org|ggerganov)/llama\.cpp:(?:full|light|server)(?:-[a-z]+)?")
"""Images that their project rebuilds daily under tags without any of these parts."""


def is_moving_tag(image: str) -> bool:
    """Whether a reference without a digest will change its image; the default tag is `latest`."""
    name, has_tag, tag = image.rpartition("/")[2].partition(":")
    if not has_tag or not tag:
        return bool(name)
    if _DAILY.fullmatch(image):
        return True
    moved = _LATEST.fullmatch(tag) or _BRANCH.fullmatch(tag)
    return moved is not None and _FIXED.search(tag) is None
