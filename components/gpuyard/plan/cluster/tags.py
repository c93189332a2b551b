"""Proofs about tags: the cloud takes them, all of them, and no two of them are one there."""

from collections.abc import Iterator, Mapping

from gpuyard.catalogue.cluster.tags import RESERVED, TAGS, TagLimits, aws_letters, gcp_key
from gpuyard.findings import Finding, Fix, Path, error
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
    limit = limits.maximum - limits.reserved_by_gpuyard
    if len(tags) > limit:
        yield error(
            "tags.too_many",
            _TAGS,
            f"a resource has {limits.maximum} tags at most on {cloud.value}, of which the platform and the cloud"
            f" take up to {limits.reserved_by_gpuyard}",
            value=f"{len(tags)} tags",
            allowed=f"{limit} tags",
            fix=Fix(message=f"remove {len(tags) - limit} of them"),
        )


def _forms(tags: Mapping[str, str], limits: TagLimits) -> Iterator[Finding]:
    for key, value in tags.items():
        if (suggestion := _near_key(key, limits)) != key:
            renamed = {suggestion if k == key else k: v for k, v in tags.items()}
            usable = suggestion and suggestion not in tags
            yield error(
                "tags.form",
                (*_TAGS, key),
                "no key of a tag on aws",
                value=key,
                allowed=f"{_ALLOWED}, at most {limits.key}; none begins with {RESERVED}",
                fix=Fix(message=f"write {suggestion}", at=_TAGS, value=renamed)
                if usable
                else Fix(message="remove it", at=(*_TAGS, key)),
            )
        if (suggestion := aws_letters(value)) != value:
            yield error(
                "tags.form",
                (*_TAGS, key),
                "no value of a tag on aws",
                value=value,
                allowed=_ALLOWED,
                fix=Fix(message=f"write {suggestion}", at=(*_TAGS, key), value=suggestion),
            )


def _near_key(key: str, limits: TagLimits) -> str:
    """The key as AWS would take it; "" when nothing is left."""
    suggestion = aws_letters(key)
    while suggestion.lower().startswith(RESERVED):
        suggestion = suggestion[len(RESERVED) :]
    return suggestion[: limits.key]


def _twins(tags: Mapping[str, str]) -> Iterator[Finding]:
    """Labels have fewer letters than the tags that they are made of: of two that become one, one is lost."""
    first: dict[str, str] = {}
    for key in tags:
        label = gcp_key(key)
        if first.setdefault(label, key) != key:
            yield error(
                "tags.same",
                (*_TAGS, key),
                f"it becomes the label {label} on gcp, as {first[label]} does",
                value=key,
                allowed="keys that differ in small letters, figures, dashes and underscores",
                fix=Fix(message="remove it, or write another key", at=(*_TAGS, key)),
            )
