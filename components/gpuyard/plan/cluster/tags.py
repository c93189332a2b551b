"""Check of tags: a cloud accepts only so many."""

from gpuyard.plan.draft import Draft
from gpuyard_core.findings import Diagnostic, Fix, error


def check_tags(draft: Draft) -> list[Diagnostic]:
    """A tag that one service rejects stops a deployment midway, after others accepted it."""
    tags, limits = draft.spec.tags, draft.provider.tag_limits
    if limits is None:
        return []
    limit = limits.maximum - limits.reserved_by_gpuyard
    if len(tags) <= limit:
        return []
    return [
        error(
            "tags.too_many",
            ("tags",),
            f"a resource has at most {limits.maximum} tags on {draft.spec.cloud.value}, of which gpuyard and"
            f" the cloud use up to {limits.reserved_by_gpuyard}",
            given=f"{len(tags)} tags",
            allowed=f"{limit} tags",
            fix=Fix(message=f"remove {len(tags) - limit} of them"),
        )
    ]
