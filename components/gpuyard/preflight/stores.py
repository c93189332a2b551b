"""Bucket names: new ones must be available, existing ones must exist."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from gpuyard.preflight.probes import ProbeAnswer, ProbeResult, SkippedProbe
from gpuyard.preflight.quota_requirements import PlannedAccount
from gpuyard.render.cloud.graph import resolve_values
from gpuyard.render.storage import CHECKPOINTS_STORE, dataset_store_name
from gpuyard_core.findings import Fix, Path, error

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
    for number, data in enumerate(ahead.plan.storage.datasets):
        at: Path = ("storage", "datasets", number)
        if data.bucket:
            yield RequiredBucket(data.bucket, (*at, "bucket"), is_created=False)
        elif dataset_store_name(data) in bucket_names:
            yield RequiredBucket(bucket_names[dataset_store_name(data)], at, is_created=True)
    checkpoints = ahead.plan.storage.checkpoints
    if checkpoints and checkpoints.bucket:
        yield RequiredBucket(
            checkpoints.bucket, ("storage", "checkpoints", "bucket"), is_created=False
        )
    elif checkpoints and CHECKPOINTS_STORE in bucket_names:
        yield RequiredBucket(
            bucket_names[CHECKPOINTS_STORE], ("storage", "checkpoints"), is_created=True
        )


def check_bucket(bucket: RequiredBucket, answer: ProbeAnswer) -> ProbeResult:
    """Findings about a bucket."""
    name, exists = bucket.name, not answer.error and not answer.failure_reason
    if bucket.is_created and answer.error in _NONE:
        return ProbeResult(messages=(f"the bucket name {name} is available",))
    if exists:
        return ProbeResult(messages=(f"bucket {name} exists and is accessible",))
    if bucket.is_created and _closed(answer):
        problem = f"the bucket name {name} is taken by another account"
        fix = Fix(message="rename the platform or the store: bucket names are globally unique")
        return ProbeResult((error("live.bucket", bucket.path, problem, given=name, fix=fix),))
    if answer.error in _NONE:
        problem = f"bucket {name} does not exist"
        fix = Fix(
            message="set `bucket` to an existing bucket, or remove it: gpuyard then creates one"
        )
        return ProbeResult((error("live.bucket", bucket.path, problem, given=name, fix=fix),))
    return ProbeResult(
        skipped=(SkippedProbe(bucket.question, answer.failure_reason or answer.error),)
    )


def _closed(answer: ProbeAnswer) -> bool:
    """Whether the bucket is another account's: Google denies access to it, and reports a free name as not found."""
    return answer.error in _OTHERS or answer.is_denied
