"""Proofs about tags: the cloud takes them, all of them, and no two of them are one there."""

from collections.abc import Iterator, Mapping

from gpuyard.catalogue.cluster.tags import RESERVED, TAGS, TagLimits, aws_letters, gcp_key
from gpuyard.findings import Finding, Fix, Path, refuse
from gpuyard.plan.draft import Draft
from gpuyard.spec.platform import Cloud

_TAGS: Path = ("tags",)
_ALLOWED = "letters, figures, blanks and _.:/=+-@"


def check_tags(draft: Draft) -> list[Finding]:
    """A tag that one service refuses stops a deployment half-way: others took it before."""
    cloud, tags = draft.spec.cloud, draft.spec.tags
    limits = TAGS.get(cloud.value)
    if limits is None:
        return []
    return [
        *_too_many(cloud, tags, limits),
        *(_forms(tags, limits) if cloud is Cloud.AWS else _twins(tags)),
    ]


def _too_many(cloud: Cloud, tags: Mapping[str, str], limits: TagLimits) -> Iterator[Finding]:
    room = limits.most - limits.ours
    if len(tags) > room:
        yield refuse(
            "tags.too_many",
            _TAGS,
            f"a resource has {limits.most} tags at most on {cloud.value}, of which the platform and the cloud"
            f" take up to {limits.ours}",
            given=f"{len(tags)} tags",
            allowed=f"{room} tags",
            fix=Fix(says=f"remove {len(tags) - room} of them"),
        )


def _forms(tags: Mapping[str, str], limits: TagLimits) -> Iterator[Finding]:
    for key, value in tags.items():
        if (near := _near_key(key, limits)) != key:
            renamed = {near if k == key else k: v for k, v in tags.items()}
            usable = near and near not in tags
            yield refuse(
                "tags.form",
                (*_TAGS, key),
                "no key of a tag on aws",
                given=key,
                allowed=f"{_ALLOWED}, at most {limits.key}; none begins with {RESERVED}",
                fix=Fix(says=f"write {near}", at=_TAGS, value=renamed)
                if usable
                else Fix(says="remove it", at=(*_TAGS, key)),
            )
        if (near := aws_letters(value)) != value:
            yield refuse(
                "tags.form",
                (*_TAGS, key),
                "no value of a tag on aws",
                given=value,
                allowed=_ALLOWED,
                fix=Fix(says=f"write {near}", at=(*_TAGS, key), value=near),
            )


def _near_key(key: str, limits: TagLimits) -> str:
    """The key as AWS would take it; "" when nothing is left."""
    near = aws_letters(key)
    while near.lower().startswith(RESERVED):
        near = near[len(RESERVED) :]
    return near[: limits.key]


def _twins(tags: Mapping[str, str]) -> Iterator[Finding]:
    """Labels have fewer letters than the tags that they are made of: of two that become one, one is lost."""
    first: dict[str, str] = {}
    for key in tags:
        label = gcp_key(key)
        if first.setdefault(label, key) != key:
            yield refuse(
                "tags.same",
                (*_TAGS, key),
                f"it becomes the label {label} on gcp, as {first[label]} does",
                given=key,
                allowed="keys that differ in small letters, figures, dashes and underscores",
                fix=Fix(says="remove it, or write another key", at=(*_TAGS, key)),
            )
