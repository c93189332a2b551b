"""Findings about the use of stores: writers, limits of mounted buckets, and prerequisites."""

from collections.abc import Iterator

from gpuyard.plan.cluster.ranges import cluster_spec
from gpuyard.plan.draft import Draft
from gpuyard.plan.storage.stores import datasets_of
from gpuyard.spec.sections import Dataset, DatasetKind
from gpuyard_core.findings import Diagnostic, Fix, Path, info, warning

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
