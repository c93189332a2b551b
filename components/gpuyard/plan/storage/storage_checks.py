"""Checks of stores: sold as configured, in zones with nodes, and for existing teams."""

from collections.abc import Callable, Iterable, Iterator, Mapping

from gpuyard.plan.cluster.ranges import cluster_spec, cluster_zones
from gpuyard.plan.draft import Draft
from gpuyard.plan.renames import nearest_fix
from gpuyard.plan.storage.stores import datasets_of, offer_of, throughput_of, tier_of, zone_of
from gpuyard.spec.late_inputs import is_late_input
from gpuyard.spec.sections import Dataset, DatasetKind, StoreTier
from gpuyard_core.catalogue.cluster.stores import (
    FILESTORE,
    FSX_LUSTRE,
    FSX_THROUGHPUTS,
    MANAGED_LUSTRE,
)
from gpuyard_core.catalogue.purchasing import IdFormat
from gpuyard_core.findings import Diagnostic, Fix, Path, error, format_list, info, warning

_CHECKPOINTS: Path = ("storage", "checkpoints")
_WORDS: Mapping[DatasetKind, frozenset[str]] = {
    DatasetKind.EFS: frozenset({"throughput", "read_mb_per_s", "file_system"}),
    DatasetKind.FSX_LUSTRE: frozenset(
        {"size_gib", "tier", "throughput", "zone", "bucket", "read_mb_per_s"}
    ),
    DatasetKind.FILESTORE: frozenset({"size_gib", "tier", "zone", "read_mb_per_s"}),
    DatasetKind.MANAGED_LUSTRE: frozenset({"size_gib", "throughput", "zone", "read_mb_per_s"}),
    DatasetKind.BUCKET: frozenset({"bucket", "cache_gib", "read_mb_per_s"}),
    DatasetKind.CLASS: frozenset({"size_gib", "class_name"}),
}
"""The fields of each kind, besides those of all kinds."""
_OF_ALL = frozenset({"name", "kind", "teams", "writers"})


def check_stores(draft: Draft) -> Iterator[Diagnostic]:
    """Report stores that the cloud does not sell as configured, or that no node or team can use."""
    seen: set[str] = set()
    for path, data in datasets_of(draft):
        for check in _OF_A_DATASET:
            yield from check(draft, path, data)
        if data.name in seen:  # a namespace can have one claim of each name
            yield error(
                "storage.twice",
                (*path, "name"),
                "two datasets have this name",
                given=data.name,
                allowed="a unique name",
                fix=Fix(message="rename one of them"),
            )
        seen.add(data.name)
    storage, kinds = draft.spec.storage, draft.provider.dataset_kinds
    if storage and storage.checkpoints:
        bucket = storage.checkpoints.bucket
        if bucket is None and DatasetKind.BUCKET not in kinds:
            problem, fix = (
                "gpuyard creates no bucket for your own cluster",
                "write the name of an existing bucket",
            )
            yield _kind(_CHECKPOINTS, problem, "", "bucket: NAME", fix)
        yield from _bucket_name(draft, _CHECKPOINTS, bucket)
        yield from _unknown(draft, (*_CHECKPOINTS, "teams"), storage.checkpoints.teams)
    stores = [d for d in storage.datasets if d.kind is not DatasetKind.CLASS] if storage else []
    if storage and (stores or storage.checkpoints) and draft.provider.sells_machines:
        yield info(
            "storage.unpriced",
            ("storage",),
            "the bill excludes stored data: the cloud bills it by size, traffic and request, and the catalogue"
            " has no price for it",
        )
    yield from draft.provider.check_storage(draft)


def _kinds(draft: Draft, path: Path, data: Dataset) -> Iterator[Diagnostic]:
    """The platform's cloud has the store, and a class has a name."""
    at, kinds = (*path, "kind"), draft.provider.dataset_kinds
    if data.kind not in kinds:
        problem, allowed = f"not available on {draft.spec.cloud.value}", ", ".join(kinds)
        yield _kind(at, problem, data.kind, allowed, "write one of these")
    elif data.kind is DatasetKind.CLASS and data.class_name is None:
        problem, allowed = "the storage class has no name", "kind: class with class_name: NAME"
        yield _kind(at, problem, data.kind, allowed, "add class_name")


def _kind(at: Path, problem: str, value: str, allowed: str, fix: str) -> Diagnostic:
    return error(
        "storage.kind", at, problem, given=str(value), allowed=allowed, fix=Fix(message=fix)
    )


def _options(_: Draft, path: Path, data: Dataset) -> Iterator[Diagnostic]:
    """Fields that would have no effect."""
    has = _OF_ALL | _WORDS[data.kind]
    if data.tier is StoreTier.SCRATCH or data.file_system:
        has -= {"throughput"}
    if data.tier is StoreTier.REGIONAL:
        has -= {"zone"}
    if data.kind is DatasetKind.CLASS:
        has -= {"writers"}
    what = f"{'an existing file system of ' if data.file_system else ''}kind {data.kind.value}"
    if data.tier in {StoreTier.SCRATCH, StoreTier.REGIONAL}:
        what = f"{data.kind.value} in tier {data.tier.value}"
    for word in sorted(data.model_fields_set - has):
        yield error(
            "storage.word",
            (*path, word),
            f"`{word}` does not apply to {what}",
            allowed=format_list(sorted(has)),
            fix=Fix(message=f"remove `{word}`", at=(*path, word)),
        )


def _sizes(_: Draft, path: Path, data: Dataset) -> Iterator[Diagnostic]:
    """Tiers, throughputs and sizes: the cloud would reject them midway in a deployment."""
    tiers, throughputs = _sold(data)
    offer, requested = offer_of(data), data.throughput
    if data.tier and tiers and data.tier.value not in tiers:
        yield _not_sold(data, (*path, "tier"), data.tier.value, tiers, tiers[0])
    elif requested and throughputs and requested not in throughputs:
        suggestion = min(throughputs, key=lambda each: abs(each - requested))
        yield _not_sold(data, (*path, "throughput"), requested, throughputs, suggestion)
    elif offer and data.size_gib and (nearest := offer.nearest(data.size_gib)) != data.size_gib:
        tier = tier_of(data)
        how = f"in tier {tier.value}" if tier else f"at {throughput_of(data)} MB/s for each TiB"
        yield error(
            "storage.size",
            (*path, "size_gib"),
            f"{data.kind.value} {how} is not sold in this size",
            given=f"{data.size_gib} GiB",
            allowed=str(offer),
            fix=Fix.write(nearest, (*path, "size_gib")),
        )


def _not_sold(
    data: Dataset, at: Path, value: object, sold: Iterable[object], suggestion: object
) -> Diagnostic:
    return error(
        "storage.tier",
        at,
        f"{data.kind.value} is not sold with this {at[-1]}",
        given=str(value),
        allowed=format_list(map(str, sold)),
        fix=Fix.write(suggestion, at),
    )


def _sold(data: Dataset) -> tuple[list[str], tuple[int, ...]]:
    """Tiers, and throughputs for each TiB."""
    match data.kind:
        case DatasetKind.FSX_LUSTRE:
            persistent = tier_of(data) is not StoreTier.SCRATCH
            return list(FSX_LUSTRE), FSX_THROUGHPUTS if persistent else ()
        case DatasetKind.FILESTORE:
            return list(FILESTORE), ()
        case DatasetKind.MANAGED_LUSTRE:
            return [], tuple(sorted(MANAGED_LUSTRE))
        case _:
            return [], ()


def _zones(draft: Draft, path: Path, data: Dataset) -> Iterator[Diagnostic]:
    """The zone of a file system in one zone is known, and nodes are in it."""
    form, offer = draft.provider.zone_names, offer_of(data)
    if form is None or offer is None or not offer.single_zone:
        return
    zone, at, known = zone_of(draft.spec, data), (*path, "zone"), cluster_zones(draft.spec)
    read = form.pattern.fullmatch(zone or "")
    if zone is None:
        problem = "it is in one zone, and the zone is missing"
        allowed = format_list(known) or form.example
        yield _no_zone(at, problem, "", allowed, "write the zone of its readers")
    elif read is None or (draft.region and read["region"] != draft.region.name):
        where = f"a zone of {draft.region.name}" if read and draft.region else "the name of a zone"
        yield _no_zone(at, f"not {where}", zone, form.example, "write a zone of the region")
    elif draft.provider.has_zonal_subnets and zone not in known:
        problem = "the cluster has no subnet in this zone"
        allowed = format_list(known) or "a zone of `cluster.zones`"
        yield _no_zone(at, problem, zone, allowed, f"add {zone} to `cluster.zones`")
    elif far := [pool.name for pool in draft.spec.pools if pool.zones != (zone,)]:
        yield warning(
            "storage.far",
            at,
            "nodes that read it may start in other zones: traffic between zones is slow and billed",
            given=f"{zone}; pools elsewhere: {format_list(far)}",
            allowed="pools in its zone, or a store in all zones",
            fix=Fix(message=f"write zones: [{zone}] in these pools"),
        )


def _no_zone(at: Path, problem: str, value: str, allowed: str, fix: str) -> Diagnostic:
    return error("storage.zone", at, problem, given=value, allowed=allowed, fix=Fix(message=fix))


def _teams(draft: Draft, path: Path, data: Dataset) -> Iterator[Diagnostic]:
    """Teams exist, and writers are among the teams of the store."""
    yield from _unknown(draft, (*path, "teams"), data.teams)
    yield from _unknown(draft, (*path, "writers"), data.writers)
    for i, name in enumerate(data.writers):
        if data.teams and name not in data.teams:
            why = "the writer is not a team of this store"
            yield _no_team((*path, "writers", i), why, name, data.teams)
    # the driver mounts Managed Lustre once on a node: readers would block writers
    teams = data.teams or tuple(team.name for team in draft.spec.teams)
    only = [name for name in teams if name not in data.writers]
    if data.kind is DatasetKind.MANAGED_LUSTRE and data.writers and only:
        at: Path = (*path, "writers")
        yield error(
            "storage.readers",
            at,
            "a node mounts Managed Lustre once for all pods, so no team can have read-only access",
            given=f"read by {format_list(only)}, written by {format_list(data.writers)}",
            allowed="all of its teams as writers, or none",
            fix=Fix(message=f"write [{', '.join(teams)}]", at=at, value=list(teams)),
        )


def _unknown(draft: Draft, path: Path, names: tuple[str, ...]) -> Iterator[Diagnostic]:
    known = tuple(team.name for team in draft.spec.teams)
    for index, name in enumerate(names):
        if name not in known:
            yield _no_team((*path, index), "no team has this name", name, known)


def _no_team(at: Path, problem: str, value: str, known: tuple[str, ...]) -> Diagnostic:
    fix = nearest_fix(value, known, at, Fix(message="write one of these teams"))
    allowed = format_list(known) or "a team under `teams`"
    return error("storage.team", at, problem, given=value, allowed=allowed, fix=fix)


def _names(draft: Draft, path: Path, data: Dataset) -> Iterator[Diagnostic]:
    """The form of names of buckets, and of ids of existing file systems."""
    yield from _bucket_name(draft, path, data.bucket)
    form, name = draft.provider.file_system_ids, data.file_system
    if form and name and data.kind is DatasetKind.EFS and not _has_form(name, form):
        yield error(
            "storage.file_system",
            (*path, "file_system"),
            "not the id of a file system of EFS",
            given=name,
            allowed=f"its id, such as {form.example}; with an access point ID::fsap-…",
            fix=Fix(message="write the id"),
        )


def _bucket_name(draft: Draft, path: Path, name: str | None) -> Iterator[Diagnostic]:
    """The form only: `pulumi up` finds out whether a bucket is yours."""
    form = draft.provider.bucket_names
    if form and name and not _has_form(name, form):
        yield error(
            "storage.bucket_name",
            (*path, "bucket"),
            f"not a valid bucket name on {draft.spec.cloud.value}",
            given=name,
            allowed=f"3 to 63 lowercase letters, digits and dashes, such as {form.example}; no scheme",
            fix=Fix(message="write the bucket name only"),
        )


def _has_form(name: str, form: IdFormat) -> bool:
    return is_late_input(name) or form.pattern.fullmatch(name) is not None


def _usage(_: Draft, path: Path, data: Dataset) -> Iterator[Diagnostic]:
    """Stores without writers, and limits of mounted buckets and of classes."""
    if data.kind in _STORES and not (data.writers or data.bucket or data.file_system):
        yield warning(
            "storage.unwritten",
            path,
            "it is created empty, and no team may write to it",
            allowed="a team that writes to it",
            fix=Fix(message="add writers: [TEAM]"),
        )
    if data.kind is DatasetKind.BUCKET and data.writers:
        yield info(
            "storage.mount",
            (*path, "writers"),
            "a mounted bucket supports new files only: writing into a file, appending and renaming fail or copy"
            " the file. For these use a file system, or `storage.checkpoints` through a client",
        )
    if data.kind is DatasetKind.CLASS:
        yield info(
            "storage.class",
            (*path, "class_name"),
            f"gpuyard does not check that the class {data.class_name} exists and supports volumes for"
            " many nodes: otherwise claims stay pending. Each namespace gets its own volume",
        )


_STORES = frozenset(DatasetKind) - {DatasetKind.BUCKET, DatasetKind.CLASS}


def _prerequisites(draft: Draft, path: Path, data: Dataset) -> Iterator[Diagnostic]:
    """What an existing cluster or network must have."""
    cluster, needs = cluster_spec(draft.spec), list[tuple[str, str]]()
    if draft.provider.sells_machines and cluster.existing and data.kind is not DatasetKind.CLASS:
        needs.append(("cluster", f"the CSI driver of {data.kind.value}"))
    lustre = draft.provider.sells_machines and data.kind is DatasetKind.MANAGED_LUSTRE
    if lustre and (cluster.existing or cluster.network.id):
        needs.append(("network", "private services access for Managed Lustre"))
    for where, what in needs:
        problem = f"the existing {where} must have {what}, which gpuyard does not check"
        yield info("storage.there", (*path, "kind"), problem)


_OF_A_DATASET: tuple[Callable[[Draft, Path, Dataset], Iterator[Diagnostic]], ...] = (
    _kinds,
    _options,
    _sizes,
    _zones,
    _teams,
    _names,
    _usage,
    _prerequisites,
)
