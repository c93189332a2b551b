"""What is said of stores: who fills them, what a mount of objects can't do, what must be there already."""

from collections.abc import Iterator

from gpuyard.findings import Finding, Fix, Path, format_list, info, warning
from gpuyard.plan.cluster.ranges import cluster_spec
from gpuyard.plan.draft import Draft
from gpuyard.plan.storage.stores import datasets_of
from gpuyard.spec.platform import Cloud
from gpuyard.spec.sections import Dataset, DatasetKind
from gpuyard.spec.teams import Team

SIDECAR = "gke.gcr.io/gcs-fuse-csi-driver-sidecar-mounter"
"""What GKE puts beside the containers of a pod that mounts a bucket."""
_STORES = frozenset(DatasetKind) - {DatasetKind.BUCKET, DatasetKind.CLASS}
_SOLD = frozenset({Cloud.AWS, Cloud.GCP})


def check_store_usage(draft: Draft) -> list[Finding]:
    """Who fills a store, what a bucket is no good for, and what is known of none."""
    findings = [f for path, data in datasets_of(draft) for f in _of_one(path, data)]
    storage = draft.spec.storage
    stores = [d for d in storage.datasets if d.kind is not DatasetKind.CLASS] if storage else []
    if storage and (stores or storage.checkpoints) and draft.spec.cloud in _SOLD:
        findings.append(
            info(
                "storage.unpriced",
                ("storage",),
                "what is stored is not on the bill: it is billed by size, traffic and request; the catalogue"
                " has no price of it",
            )
        )
    return findings


def _of_one(path: Path, data: Dataset) -> Iterator[Finding]:
    if data.kind in _STORES and not data.writers and data.bucket is None:
        yield warning(
            "storage.unwritten",
            path,
            "it is empty when it is made, and no team may write it",
            allowed="a team that fills it",
            fix=Fix(message="add writers: [TEAM]"),
        )
    if data.kind is DatasetKind.BUCKET and data.writers:
        yield info(
            "storage.mount",
            (*path, "writers"),
            "a mounted bucket takes whole new files; writing into one, appending, renaming fail or copy it;"
            " what does so belongs on a file system, or uses `storage.checkpoints` through a client",
        )
    if data.kind is DatasetKind.CLASS:
        yield info(
            "storage.class",
            (*path, "class_name"),
            f"whether the class {data.class_name} is there, and gives volumes to many nodes at once, is not"
            " checked: without it claims wait. Each namespace gets a volume of its own",
        )


def check_store_needs(draft: Draft) -> list[Finding]:
    """What a cluster or a network that is there must have, and admission must let in."""
    findings = list(_prerequisites(draft))
    if draft.spec.cloud is Cloud.GCP:
        mounted = [d for _, d in datasets_of(draft) if d.kind is DatasetKind.BUCKET]
        findings += [
            warning(
                "storage.sidecar",
                ("teams", index, "allowed_images"),
                "its pods can't mount the bucket: GKE adds a container to them, and its image is kept out",
                value=format_list(_images(draft, team)),
                allowed=SIDECAR,
                fix=Fix(message=f"add {SIDECAR}"),
            )
            for index, team in enumerate(draft.spec.teams)
            if any(not d.teams or team.name in d.teams for d in mounted)
            and _images(draft, team)
            and not any(SIDECAR.startswith(each) for each in _images(draft, team))
        ]
    return findings


def _images(draft: Draft, team: Team) -> tuple[str, ...]:
    admission = draft.spec.admission
    return team.allowed_images or (admission.allowed_images if admission else ())


def _prerequisites(draft: Draft) -> Iterator[Finding]:
    cluster, cloud = cluster_spec(draft.spec), draft.spec.cloud
    if cloud not in _SOLD:
        return
    for path, data in datasets_of(draft):
        if cluster.existing and data.kind is not DatasetKind.CLASS:
            yield _must_be_there(path, f"the CSI driver of {data.kind.value}", "cluster")
        if data.kind is DatasetKind.MANAGED_LUSTRE and (cluster.existing or cluster.network.id):
            yield _must_be_there(path, "private services access for Managed Lustre", "network")


def _must_be_there(path: Path, what: str, where: str) -> Finding:
    problem = f"the {where} is there already: {what} must be in it, and is not checked"
    return info("storage.there", (*path, "kind"), problem)
