"""Fields of `cluster` that have no effect: for another cloud, or for an existing cluster."""

from collections.abc import Iterator

from gpuyard.plan.cluster.ranges import cluster_spec
from gpuyard.plan.draft import Draft
from gpuyard_core.catalogue.regions import region_names
from gpuyard_core.findings import Diagnostic, Fix, Path, error
from gpuyard_core.models.values import SpecModel

_NEVER_MADE = ("existing", "protect")
"""For any cluster, including an existing one."""
_OF_A_GIVEN_ONE = (*_NEVER_MADE, "zones", "network", "roles")
"""For an existing cluster, the zones, subnets and role of its nodes matter too."""


def check_cluster_options(draft: Draft) -> Iterator[Diagnostic]:
    """Reject fields that would have no effect."""
    cluster, others = draft.spec.cluster, draft.provider.cluster_fields_of_others
    if cluster is None:
        return
    if not draft.provider.sells_machines:
        problem = "applies only to a cluster that gpuyard creates on aws or gcp"
        for word in _written(cluster, _NEVER_MADE):
            yield _finding((word,), problem)
    elif cluster.existing:
        problem = "applies only to a cluster that gpuyard creates, and this one exists already"
        # the DNS endpoint may be the only one of an existing cluster too, where clusters have one
        dns = cluster.endpoint.model_fields_set == {"dns"} and ("endpoint", "dns") not in others
        for word in _written(cluster, (*_OF_A_GIVEN_ONE, *(["endpoint"] if dns else []))):
            yield _finding((word,), problem)
        if cluster.network.model_fields_set - {"security_groups"} and cluster.network.id is None:
            yield _finding(("network",), problem)
        if cluster.roles.cluster is not None:
            yield _finding(("roles", "cluster"), problem)
    else:
        yield from (
            _finding(path, f"applies to {cloud} only")
            for path, cloud in others.items()
            if _is_set(cluster, path)
        )


def _is_set(model: SpecModel | None, path: Path) -> bool:
    for step in path[:-1]:
        model = getattr(model, str(step), None)
    return model is not None and path[-1] in model.model_fields_set


def _written(model: SpecModel, fine: tuple[str, ...]) -> list[str]:
    """The fields that are set, in the order of the reference, except these."""
    return [w for w in type(model).model_fields if w in model.model_fields_set and w not in fine]


def _finding(path: Path, problem: str) -> Diagnostic:
    at: Path = ("cluster", *path)
    word = path[-1]
    return error(
        "cluster.word",
        at,
        f"`{word}` {problem}",
        allowed="the fields for this cloud in docs/reference/stack-file.md",
        fix=Fix(message=f"remove `{word}`", at=at),
    )


def check_cluster_inputs(draft: Draft) -> Iterator[Diagnostic]:
    """Check the key, and what only one cloud has: kinds of subnets, and upgrade hours."""
    formats, key, region = draft.provider.cluster_names, cluster_spec(draft.spec).key, draft.region
    read = formats.key.pattern.fullmatch(key or "") if formats else None
    # a regional service encrypts only with a key in its region
    if read and region and read["region"] in region_names(draft.spec.cloud) - {region.name}:
        yield error(
            "cluster.key_region",
            ("cluster", "key"),
            f"the key is in {read['region']}, but the cluster is in {region.name} ({region.source})",
            given=str(key),
            allowed=f"a key in {region.name}",
            fix=Fix(message=f"write a key in {region.name}"),
        )
    yield from draft.provider.check_cluster(draft)


def check_tags(draft: Draft) -> Iterator[Diagnostic]:
    """A tag that one service rejects stops a deployment midway, after others accepted it."""
    tags, limits = draft.spec.tags, draft.provider.tag_limits
    if limits is None:
        return
    limit = limits.maximum - limits.reserved_by_gpuyard
    if len(tags) > limit:
        yield error(
            "tags.too_many",
            ("tags",),
            f"a resource has at most {limits.maximum} tags on {draft.spec.cloud.value}, of which gpuyard and"
            f" the cloud use up to {limits.reserved_by_gpuyard}",
            given=f"{len(tags)} tags",
            allowed=f"{limit} tags",
            fix=Fix(message=f"remove {len(tags) - limit} of them"),
        )
