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


def check_cluster_options(draft: Draft) -> list[Diagnostic]:
    """Reject fields that would have no effect."""
    spec = draft.spec
    if spec.cluster is None:
        return []
    if not draft.provider.sells_machines:
        problem = "applies only to a cluster that gpuyard creates on aws or gcp"
        return [_finding((word,), problem) for word in _written(spec.cluster, _NEVER_MADE)]
    if spec.cluster.existing:
        problem = "applies only to a cluster that gpuyard creates, and this one exists already"
        fine = (*_OF_A_GIVEN_ONE, *_ways_in(draft))
        findings = [_finding((word,), problem) for word in _written(spec.cluster, fine)]
        network = spec.cluster.network
        if network.model_fields_set - {"security_groups"} and network.id is None:
            findings.append(_finding(("network",), problem))
        if spec.cluster.roles.cluster is not None:
            findings.append(_finding(("roles", "cluster"), problem))
        return findings
    return list(_of_other_clouds(draft))


def _ways_in(draft: Draft) -> tuple[str, ...]:
    """The DNS endpoint may be the only one of an existing cluster too, where clusters have one."""
    dns = cluster_spec(draft.spec).endpoint.model_fields_set == {"dns"}
    has_one = ("endpoint", "dns") not in draft.provider.cluster_fields_of_others
    return ("endpoint",) if dns and has_one else ()


def _written(model: SpecModel, fine: tuple[str, ...]) -> list[str]:
    """The fields that are set, in the order of the reference, except these."""
    return [w for w in type(model).model_fields if w in model.model_fields_set and w not in fine]


def _of_other_clouds(draft: Draft) -> Iterator[Diagnostic]:
    for path, cloud in draft.provider.cluster_fields_of_others.items():
        model: SpecModel | None = cluster_spec(draft.spec)
        for step in path[:-1]:
            model = getattr(model, str(step), None)
        if model is not None and path[-1] in model.model_fields_set:
            yield _finding(path, f"applies to {cloud} only")


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


def check_cluster_inputs(draft: Draft) -> list[Diagnostic]:
    """Check the key, and what only one cloud has: kinds of subnets, and upgrade hours."""
    return [*_key_elsewhere(draft), *draft.provider.check_cluster(draft)]


def _key_elsewhere(draft: Draft) -> Iterator[Diagnostic]:
    """A regional service encrypts only with a key in its region."""
    formats, key = draft.provider.cluster_names, cluster_spec(draft.spec).key
    read = formats.key.pattern.fullmatch(key or "") if formats else None
    if read is None or draft.region is None:
        return
    key_region, region = read["region"], draft.region
    if key_region != region.name and key_region in region_names(draft.spec.cloud):
        yield error(
            "cluster.key_region",
            ("cluster", "key"),
            f"the key is in {key_region}, but the cluster is in {region.name} ({region.source})",
            given=str(key),
            allowed=f"a key in {region.name}",
            fix=Fix(message=f"write a key in {region.name}"),
        )


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
