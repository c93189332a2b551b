"""Names that a plan creates or uses: buckets, the cluster and its key, and other unique names."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from gpuyard.plan.cluster.ranges import cluster_spec
from gpuyard.plan.records import CheckpointsPlan, DatasetPlan
from gpuyard.preflight.probes import (
    NOT_FOUND,
    AnswersByName,
    ProbeAnswer,
    ProbeResult,
    at,
    items,
    probe_result,
    skipped,
)
from gpuyard.preflight.quota_requirements import PlannedAccount
from gpuyard.render.cloud.graph import resolve_values
from gpuyard.render.storage import CHECKPOINTS_STORE, dataset_store_name
from gpuyard_core.findings import Diagnostic, Fix, Path, error, format_list, warning

BUCKET = "bucket"
_NAMED_BY = {"aws:s3/bucket:Bucket": "bucket", "gcp:storage/bucket:Bucket": "name"}
"""The field with the name, by kind."""
_NONE = frozenset({"404", "NoSuchBucket", "NOT_FOUND"})
_OTHERS = frozenset({"403", "301"})
"""S3's error codes for a bucket of another account, and for an own bucket in another region."""


@dataclass(frozen=True, slots=True)
class RequiredBucket:
    """A bucket that the plan creates or uses."""

    name: str
    path: Path
    is_created: bool

    @property
    def question(self) -> str:
        """The name of its query."""
        return f"{BUCKET} {self.name}"


def required_buckets(ahead: PlannedAccount, known: Mapping[str, str]) -> Iterator[RequiredBucket]:
    """All buckets; `known` has the late parts of their names."""
    bucket_names = {
        each.name: str(
            resolve_values(each.inputs[field], lambda name: known[name.rpartition(".")[2]])
        )
        for each in ahead.graph.resources
        if (field := _NAMED_BY.get(each.kind))
    }
    storage = ahead.plan.storage
    stores: list[tuple[DatasetPlan | CheckpointsPlan, str, Path]] = [
        (data, dataset_store_name(data), ("storage", "datasets", number))
        for number, data in enumerate(storage.datasets)
    ]
    if storage.checkpoints:
        stores.append((storage.checkpoints, CHECKPOINTS_STORE, ("storage", "checkpoints")))
    for store, name, path in stores:
        if store.bucket:
            yield RequiredBucket(store.bucket, (*path, "bucket"), is_created=False)
        elif name in bucket_names:
            yield RequiredBucket(bucket_names[name], path, is_created=True)


def check_bucket(
    bucket: RequiredBucket, answer: ProbeAnswer, _others: AnswersByName
) -> ProbeResult:
    """Findings about a bucket."""
    name, exists = bucket.name, not answer.error and not answer.failure_reason
    if bucket.is_created and answer.error in _NONE:
        return probe_result(said=f"the bucket name {name} is available")
    if exists:
        return probe_result(said=f"bucket {name} exists and is accessible")
    if bucket.is_created and _closed(answer):
        problem = f"the bucket name {name} is taken by another account"
        fix = Fix(message="rename the platform or the store: bucket names are globally unique")
        return probe_result(error("live.bucket", bucket.path, problem, given=name, fix=fix))
    if answer.error in _NONE:
        problem = f"bucket {name} does not exist"
        fix = Fix(
            message="set `bucket` to an existing bucket, or remove it: gpuyard then creates one"
        )
        return probe_result(error("live.bucket", bucket.path, problem, given=name, fix=fix))
    return skipped(bucket.question, answer.failure_reason or answer.error)


def _closed(answer: ProbeAnswer) -> bool:
    """Whether the bucket is another account's: Google denies access to it, and reports a free name as not found."""
    return answer.error in _OTHERS or answer.is_denied


OWN, LEFT = "own", "left"
"""Queries: the cluster with the platform's name, and other resources with explicit names."""
_AT: Path = ("name",)
_LEFT = ("aws:cloudwatch/logGroup:LogGroup", "gcp:compute/network:Network")
"""Resources that outlive an EKS cluster, or that an interrupted `up` creates first."""


def explicit_names(ahead: PlannedAccount) -> list[str]:
    """Unique names: of log groups on AWS, of networks on Google Cloud."""
    names = (each.inputs.get("name") for each in ahead.graph.resources if each.kind in _LEFT)
    return sorted(name for name in names if isinstance(name, str))


def is_free(answer: ProbeAnswer) -> bool:
    """Whether no cluster has the name."""
    return answer.error == NOT_FOUND or answer.error.startswith("ResourceNotFound")


def is_managed(answer: ProbeAnswer, platform: str, *path: str) -> bool:
    """Whether the existing cluster has the platform's label at this path."""
    return bool(at(answer.value, *path) == platform)


def own_name_findings(
    platform: str, path: tuple[str, ...], answer: ProbeAnswer, _others: AnswersByName
) -> ProbeResult | None:
    """An error when another cluster has the platform's name; the stack's own is accepted."""
    if is_free(answer):
        return probe_result(said=f"no cluster has the name {platform}")
    if is_managed(answer, platform, *path):
        return probe_result(said=f"cluster {platform} belongs to this platform and is deployed")
    cluster = at(answer.value, *path[:-2])
    if answer.error or not isinstance(cluster, Mapping) or "name" not in cluster:
        return None
    problem = f"a cluster with the name {platform} exists and does not belong to this platform"
    fix = Fix(message="rename the platform: its cluster has the same name")
    return probe_result(error("live.taken", _AT, problem, given=platform, fix=fix))


def leftover_findings(
    ahead: PlannedAccount,
    way: str,
    key: str,
    path: tuple[str, ...],
    answer: ProbeAnswer,
    others: AnswersByName,
) -> ProbeResult | None:
    """A warning when resources have the platform's names without a cluster."""
    listed = items(answer.value, *path)
    if listed is None:
        return None
    results = [str(each.get(key)) for each in listed if each.get(key) in explicit_names(ahead)]
    if not results or OWN not in others or not is_free(others[OWN]):
        return ProbeResult()
    value = format_list(results)
    problem = f"{value} exists without a cluster: `pulumi up` would fail to create it"
    fix = f"if a `pulumi up` of this stack was interrupted, no action; otherwise delete it: {way}"
    free = "a free name"
    return probe_result(
        warning("live.taken", _AT, problem, given=value, allowed=free, fix=Fix(message=fix))
    )


def cluster_error(
    ahead: PlannedAccount, problem: str, fix: str, *, allowed: str = ""
) -> Diagnostic:
    """An existing cluster that the plan cannot use."""
    name, path = str(cluster_spec(ahead.plan.spec).existing), ("cluster", "existing")
    problem = f"cluster {name} {problem}"
    return error("live.cluster", path, problem, given=name, allowed=allowed, fix=Fix(message=fix))


def key_error(key: str, problem: str) -> ProbeResult:
    """An existing key that cannot encrypt."""
    fix = Fix(message="use an enabled key, or remove `key`: gpuyard then creates one")
    return probe_result(
        error("live.key", ("cluster", "key"), f"the key {problem}", given=key, fix=fix)
    )
