"""Checks of stores: sold as configured, in zones with nodes, and for existing teams."""

from collections.abc import Iterator, Mapping

from gpuyard.plan.cluster.ranges import cluster_spec, cluster_zones
from gpuyard.plan.draft import Draft
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
from gpuyard_core.suggestions import nearest_name

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


def check_store_kinds(draft: Draft) -> list[Diagnostic]:
    """Check that the platform's cloud has the store, and that a class has a name."""
    storage, kinds = draft.spec.storage, draft.provider.dataset_kinds
    findings: list[Diagnostic] = []
    for path, data in datasets_of(draft):
        at: Path = (*path, "kind")
        if data.kind not in kinds:
            problem, allowed = f"not available on {draft.spec.cloud.value}", ", ".join(kinds)
            findings.append(_kind(at, problem, data.kind, allowed, "write one of these"))
        elif data.kind is DatasetKind.CLASS and data.class_name is None:
            problem, allowed = "the storage class has no name", "kind: class with class_name: NAME"
            findings.append(_kind(at, problem, data.kind, allowed, "add class_name"))
    creates_bucket = storage and storage.checkpoints and storage.checkpoints.bucket is None
    if creates_bucket and DatasetKind.BUCKET not in kinds:
        problem, allowed = "gpuyard creates no bucket for your own cluster", "bucket: NAME"
        findings.append(
            _kind(_CHECKPOINTS, problem, "", allowed, "write the name of an existing bucket")
        )
    return findings


def _kind(at: Path, problem: str, value: str, allowed: str, fix: str) -> Diagnostic:
    return error(
        "storage.kind", at, problem, given=str(value), allowed=allowed, fix=Fix(message=fix)
    )


def check_store_options(draft: Draft) -> list[Diagnostic]:
    """Reject fields that would have no effect."""
    return [
        error(
            "storage.word",
            (*path, word),
            f"`{word}` does not apply to {_called(data)}",
            allowed=format_list(sorted(_has(data))),
            fix=Fix(message=f"remove `{word}`", at=(*path, word)),
        )
        for path, data in datasets_of(draft)
        for word in sorted(data.model_fields_set - _has(data))
    ]


def _has(data: Dataset) -> frozenset[str]:
    words = _OF_ALL | _WORDS[data.kind]
    if data.tier is StoreTier.SCRATCH or data.file_system:
        words -= {"throughput"}
    if data.tier is StoreTier.REGIONAL:
        words -= {"zone"}
    return words - {"writers"} if data.kind is DatasetKind.CLASS else words


def _called(data: Dataset) -> str:
    tier = data.tier if data.tier in {StoreTier.SCRATCH, StoreTier.REGIONAL} else None
    if tier:
        return f"{data.kind.value} in tier {tier.value}"
    return f"{'an existing file system of ' if data.file_system else ''}kind {data.kind.value}"


def check_store_sizes(draft: Draft) -> list[Diagnostic]:
    """Check tiers, throughputs and sizes: the cloud would reject them midway in a deployment."""
    results = (_tier(path, data) or _size(path, data) for path, data in datasets_of(draft))
    return [finding for finding in results if finding]


def _tier(path: Path, data: Dataset) -> Diagnostic | None:
    tiers, throughputs = _sold(data)
    if data.tier and tiers and data.tier.value not in tiers:
        word, value, allowed = "tier", data.tier.value, format_list(tiers)
        fix = Fix(message=f"write {tiers[0]}", at=(*path, word), value=tiers[0])
    elif data.throughput and throughputs and data.throughput not in throughputs:
        requested = data.throughput
        suggestion = min(throughputs, key=lambda each: abs(each - requested))
        word = "throughput"
        value = str(data.throughput)
        allowed = format_list(map(str, throughputs))
        fix = Fix(message=f"write {suggestion}", at=(*path, word), value=suggestion)
    else:
        return None
    problem = f"{data.kind.value} is not sold with this {word}"
    return error("storage.tier", (*path, word), problem, given=value, allowed=allowed, fix=fix)


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


def _size(path: Path, data: Dataset) -> Diagnostic | None:
    offer = offer_of(data)
    if offer is None or data.size_gib is None:
        return None
    suggestion, tier = offer.nearest(data.size_gib), tier_of(data)
    if suggestion == data.size_gib:
        return None
    speed = throughput_of(data)
    how = f"in tier {tier.value}" if tier else f"at {speed} MB/s for each TiB"
    what = f"{data.kind.value} {how}"
    return error(
        "storage.size",
        (*path, "size_gib"),
        f"{what} is not sold in this size",
        given=f"{data.size_gib} GiB",
        allowed=str(offer),
        fix=Fix(message=f"write {suggestion}", at=(*path, "size_gib"), value=suggestion),
    )


def check_store_zones(draft: Draft) -> list[Diagnostic]:
    """Check that the zone of a file system in one zone is known, and that nodes are in it."""
    form = draft.provider.zone_names
    if form is None:
        return []
    return [
        finding
        for path, data in datasets_of(draft)
        if (offer := offer_of(data)) and offer.single_zone
        for finding in _zone(draft, path, data, form)
    ]


def _zone(draft: Draft, path: Path, data: Dataset, form: IdFormat) -> Iterator[Diagnostic]:
    zone, at, known = zone_of(draft.spec, data), (*path, "zone"), cluster_zones(draft.spec)
    read = form.pattern.fullmatch(zone or "")
    if zone is None:
        problem = "it is in one zone, and the zone is missing"
        allowed = format_list(known) or form.example
        yield _no_zone(at, problem, "", allowed, "write the zone of its readers")
    elif read is None or (draft.region and read["region"] != draft.region.name):
        where = f"a zone of {draft.region.name}" if read and draft.region else "the name of a zone"
        problem = f"not {where}"
        yield _no_zone(at, problem, zone, form.example, "write a zone of the region")
    elif draft.provider.has_zonal_subnets and zone not in known:
        problem = "the cluster has no subnet in this zone"
        allowed = format_list(known) or "a zone of `cluster.zones`"
        yield _no_zone(at, problem, zone, allowed, f"add {zone} to `cluster.zones`")
    else:
        yield from _far(draft, at, zone)


def _no_zone(at: Path, problem: str, value: str, allowed: str, fix: str) -> Diagnostic:
    return error("storage.zone", at, problem, given=value, allowed=allowed, fix=Fix(message=fix))


def _far(draft: Draft, at: Path, zone: str) -> Iterator[Diagnostic]:
    far = [pool.name for pool in draft.spec.pools if pool.zones != (zone,)]
    if far:
        yield warning(
            "storage.far",
            at,
            "nodes that read it may start in other zones: traffic between zones is slow and billed",
            given=f"{zone}; pools elsewhere: {format_list(far)}",
            allowed="pools in its zone, or a store in all zones",
            fix=Fix(message=f"write zones: [{zone}] in these pools"),
        )


def check_store_teams(draft: Draft) -> list[Diagnostic]:
    """Check that teams exist, and that writers are among the teams of the store."""
    findings: list[Diagnostic] = []
    for path, data in datasets_of(draft):
        findings += _unknown(draft, (*path, "teams"), data.teams)
        findings += _unknown(draft, (*path, "writers"), data.writers)
        findings += [
            _no_team(
                (*path, "writers", i), "the writer is not a team of this store", name, data.teams
            )
            for i, name in enumerate(data.writers)
            if data.teams and name not in data.teams
        ]
        findings += _readers(draft, path, data)
    storage = draft.spec.storage
    if storage and storage.checkpoints:
        findings += _unknown(draft, (*_CHECKPOINTS, "teams"), storage.checkpoints.teams)
    return findings


def _readers(draft: Draft, path: Path, data: Dataset) -> Iterator[Diagnostic]:
    """The driver mounts Managed Lustre once on a node: readers would block writers."""
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
    suggestion = nearest_name(value, known)
    fix = (
        Fix(message=f"write {suggestion}", at=at, value=suggestion)
        if suggestion
        else Fix(message="write one of these teams")
    )
    allowed = format_list(known) or "a team under `teams`"
    return error("storage.team", at, problem, given=value, allowed=allowed, fix=fix)


def check_store_names(draft: Draft) -> list[Diagnostic]:
    """Check names: a namespace can have one claim of each name."""
    seen: set[str] = set()
    findings: list[Diagnostic] = []
    for path, data in datasets_of(draft):
        if data.name in seen:
            findings.append(
                error(
                    "storage.twice",
                    (*path, "name"),
                    "two datasets have this name",
                    given=data.name,
                    allowed="a unique name",
                    fix=Fix(message="rename one of them"),
                )
            )
        seen.add(data.name)
    return findings


def check_bucket_names(draft: Draft) -> list[Diagnostic]:
    """Check the form of bucket names; `pulumi up` finds out whether a bucket is yours."""
    form = draft.provider.bucket_names
    if form is None:
        return []
    storage = draft.spec.storage
    named = [(path, data.bucket) for path, data in datasets_of(draft)]
    if storage and storage.checkpoints:
        named.append((_CHECKPOINTS, storage.checkpoints.bucket))
    return [
        error(
            "storage.bucket_name",
            (*path, "bucket"),
            f"not a valid bucket name on {draft.spec.cloud.value}",
            given=name,
            allowed=f"3 to 63 lowercase letters, digits and dashes, such as {form.example}; no scheme",
            fix=Fix(message="write the bucket name only"),
        )
        for path, name in named
        if name and not is_late_input(name) and not form.pattern.fullmatch(name)
    ]


def check_file_systems(draft: Draft) -> list[Diagnostic]:
    """Check the form of ids of existing file systems."""
    form = draft.provider.file_system_ids
    return [
        error(
            "storage.file_system",
            (*path, "file_system"),
            "not the id of a file system of EFS",
            given=name,
            allowed=f"its id, such as {form.example}; with an access point ID::fsap-…",
            fix=Fix(message="write the id"),
        )
        for path, data in datasets_of(draft)
        if form and (name := data.file_system) and data.kind is DatasetKind.EFS
        if not is_late_input(name) and not form.pattern.fullmatch(name)
    ]


_STORES = frozenset(DatasetKind) - {DatasetKind.BUCKET, DatasetKind.CLASS}


def check_store_usage(draft: Draft) -> list[Diagnostic]:
    """Report stores without writers, limits of mounted buckets, and missing prices."""
    findings = [f for path, data in datasets_of(draft) for f in _of_one(path, data)]
    storage = draft.spec.storage
    stores = [d for d in storage.datasets if d.kind is not DatasetKind.CLASS] if storage else []
    if storage and (stores or storage.checkpoints) and draft.provider.sells_machines:
        findings.append(
            info(
                "storage.unpriced",
                ("storage",),
                "the bill excludes stored data: the cloud bills it by size, traffic and request, and the catalogue"
                " has no price for it",
            )
        )
    return findings


def _of_one(path: Path, data: Dataset) -> Iterator[Diagnostic]:
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


def check_store_needs(draft: Draft) -> list[Diagnostic]:
    """Report what an existing cluster or network must have, and images to allow."""
    return [*_prerequisites(draft), *draft.provider.check_storage(draft)]


def _prerequisites(draft: Draft) -> Iterator[Diagnostic]:
    cluster = cluster_spec(draft.spec)
    if not draft.provider.sells_machines:
        return
    for path, data in datasets_of(draft):
        if cluster.existing and data.kind is not DatasetKind.CLASS:
            yield _must_be_there(path, f"the CSI driver of {data.kind.value}", "cluster")
        if data.kind is DatasetKind.MANAGED_LUSTRE and (cluster.existing or cluster.network.id):
            yield _must_be_there(path, "private services access for Managed Lustre", "network")


def _must_be_there(path: Path, what: str, where: str) -> Diagnostic:
    problem = f"the existing {where} must have {what}, which gpuyard does not check"
    return info("storage.there", (*path, "kind"), problem)
