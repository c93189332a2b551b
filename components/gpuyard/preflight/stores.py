"""Names of buckets: those that are to be made are free, those that are to be there are there."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from gpuyard.findings import Fix, Path, refuse
from gpuyard.preflight.asking import Answer, Heard, Unasked
from gpuyard.preflight.wants import Ahead
from gpuyard.render.cloud.graph import settle
from gpuyard.render.storage import CHECKPOINTS_STORE, store_name

BUCKET = "bucket"
_NAMED_BY = {"aws:s3/bucket:Bucket": "bucket", "gcp:storage/bucket:Bucket": "name"}
"""By kind, the field that has the name."""
_NONE = frozenset({"404", "NoSuchBucket", "NOT_FOUND"})
_OTHERS = frozenset({"403", "301"})
"""S3 says so of a bucket that is somebody else's, and of one of one's own in another region."""


@dataclass(frozen=True, slots=True)
class WantedBucket:
    """A bucket that the plan makes, or takes as it is."""

    name: str
    path: Path
    is_made: bool

    @property
    def question(self) -> str:
        """What the question about it is called."""
        return f"{BUCKET} {self.name}"


def wanted(ahead: Ahead, known: Mapping[str, str]) -> Iterator[WantedBucket]:
    """All of them; `known` has the late parts of their names, by the last part of those parts' names."""
    made = {
        each.name: str(settle(each.inputs[field], lambda name: known[name.rpartition(".")[2]]))
        for each in ahead.graph.resources
        if (field := _NAMED_BY.get(each.kind))
    }
    for number, data in enumerate(ahead.plan.storage.datasets):
        at: Path = ("storage", "datasets", number)
        if data.bucket:
            yield WantedBucket(data.bucket, (*at, "bucket"), is_made=False)
        elif store_name(data) in made:
            yield WantedBucket(made[store_name(data)], at, is_made=True)
    kept = ahead.plan.storage.checkpoints
    if kept and kept.bucket:
        yield WantedBucket(kept.bucket, ("storage", "checkpoints", "bucket"), is_made=False)
    elif kept and CHECKPOINTS_STORE in made:
        yield WantedBucket(made[CHECKPOINTS_STORE], ("storage", "checkpoints"), is_made=True)


def judge_bucket(bucket: WantedBucket, answer: Answer) -> Heard:
    """What an answer means for a bucket of the plan."""
    name, there = bucket.name, not answer.error and not answer.why
    if bucket.is_made and answer.error in _NONE:
        return Heard(said=(f"the name of bucket {name} is free",))
    if there:
        return Heard(said=(f"bucket {name} is there, and yours to use",))
    if bucket.is_made and _closed(answer):
        problem = f"the name of bucket {name} is taken: there is one, and it is not yours"
        fix = Fix(says="give the platform or the store another name: all buckets share one space")
        return Heard((refuse("live.bucket", bucket.path, problem, given=name, fix=fix),))
    if answer.error in _NONE:
        problem = f"no bucket {name} is there"
        fix = Fix(says="write the name of one that is there, or leave `bucket` out: one is made")
        return Heard((refuse("live.bucket", bucket.path, problem, given=name, fix=fix),))
    return Heard(unasked=(Unasked(bucket.question, answer.why or answer.error),))


def _closed(answer: Answer) -> bool:
    """Google shows nobody a bucket of somebody else's; of a name that is free it says that there is none."""
    return answer.error in _OTHERS or answer.is_denied
