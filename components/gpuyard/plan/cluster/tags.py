"""Checks of tags: the cloud accepts each of them and their number, and no two become the same."""

from collections.abc import Iterator, Mapping

from gpuyard.catalogue.cluster.tags import RESERVED, TAGS, TagLimits, aws_letters, gcp_key
from gpuyard.findings import Finding, Fix, Path, error
from gpuyard.plan.draft import Draft
from gpuyard.spec.platform import Cloud

_TAGS: Path = ("tags",)
_ALLOWED = "letters, digits, spaces and _.:/=+-@"


def check_tags(draft: Draft) -> list[Finding]:
    """A tag that one service rejects stops a deployment midway, after others accepted it."""
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
            f"a resource has at most {limits.maximum} tags on {cloud.value}, of which gpuyard and the cloud"
            f" use up to {limits.reserved_by_gpuyard}",
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
                "not a valid tag key on aws",
                value=key,
                allowed=f"{_ALLOWED}, at most {limits.key}, not starting with {RESERVED}",
                fix=Fix(message=f"write {suggestion}", at=_TAGS, value=renamed)
                if usable
                else Fix(message="remove it", at=(*_TAGS, key)),
            )
        if (suggestion := aws_letters(value)) != value:
            yield error(
                "tags.form",
                (*_TAGS, key),
                "not a valid tag value on aws",
                value=value,
                allowed=_ALLOWED,
                fix=Fix(message=f"write {suggestion}", at=(*_TAGS, key), value=suggestion),
            )


def _near_key(key: str, limits: TagLimits) -> str:
    """The key as AWS would accept it; "" when nothing is left."""
    suggestion = aws_letters(key)
    while suggestion.lower().startswith(RESERVED):
        suggestion = suggestion[len(RESERVED) :]
    return suggestion[: limits.key]


def _twins(tags: Mapping[str, str]) -> Iterator[Finding]:
    """Labels allow fewer characters than tags: if two tags become the same label, one is lost."""
    first: dict[str, str] = {}
    for key in tags:
        label = gcp_key(key)
        if first.setdefault(label, key) != key:
            yield error(
                "tags.same",
                (*_TAGS, key),
                f"on gcp it becomes the label {label}, as {first[label]} does",
                value=key,
                allowed="keys that differ in lowercase letters, digits, dashes and underscores",
                fix=Fix(message="remove it, or write another key", at=(*_TAGS, key)),
            )
