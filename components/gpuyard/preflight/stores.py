"""Names of buckets: those that are to be made are free, those that are to be there are there."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from gpuyard.findings import Fix, Path, error
from gpuyard.preflight.probes import ProbeAnswer, ProbeResult, SkippedProbe
from gpuyard.preflight.quota_requirements import PlannedAccount
from gpuyard.render.cloud.graph import resolve_values
from gpuyard.render.storage import CHECKPOINTS_STORE, store_name

BUCKET = "bucket"
_NAMED_BY = {"aws:s3/bucket:Bucket": "bucket", "gcp:storage/bucket:Bucket": "name"}
"""By kind, the field that has the name."""
_NONE = frozenset({"404", "NoSuchBucket", "NOT_FOUND"})
_OTHERS = frozenset({"403", "301"})
"""S3 says so of a bucket that is somebody else's, and of one of one's own in another region."""


@dataclass(frozen=True, slots=True)
class RequiredBucket:
    """A bucket that the plan makes, or takes as it is."""

    name: str
    path: Path
    is_created: bool

    @property
    def question(self) -> str:
        """What the question about it is called."""
        return f"{BUCKET} {self.name}"


def required_buckets(ahead: PlannedAccount, known: Mapping[str, str]) -> Iterator[RequiredBucket]:
    """All of them; `known` has the late parts of their names, by the last part of those parts' names."""
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
        elif store_name(data) in bucket_names:
            yield RequiredBucket(bucket_names[store_name(data)], at, is_created=True)
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
    """What an answer means for a bucket of the plan."""
    name, exists = bucket.name, not answer.error and not answer.failure_reason
    if bucket.is_created and answer.error in _NONE:
        return ProbeResult(messages=(f"the name of bucket {name} is free",))
    if exists:
        return ProbeResult(messages=(f"bucket {name} is there, and yours to use",))
    if bucket.is_created and _closed(answer):
        problem = f"the name of bucket {name} is taken: there is one, and it is not yours"
        fix = Fix(
            message="give the platform or the store another name: all buckets share one space"
        )
        return ProbeResult((error("live.bucket", bucket.path, problem, value=name, fix=fix),))
    if answer.error in _NONE:
        problem = f"no bucket {name} is there"
        fix = Fix(message="write the name of one that is there, or leave `bucket` out: one is made")
        return ProbeResult((error("live.bucket", bucket.path, problem, value=name, fix=fix),))
    return ProbeResult(
        skipped=(SkippedProbe(bucket.question, answer.failure_reason or answer.error),)
    )


def _closed(answer: ProbeAnswer) -> bool:
    """Google shows nobody a bucket of somebody else's; of a name that is free it says that there is none."""
    return answer.error in _OTHERS or answer.is_denied
