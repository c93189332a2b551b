"""Fields of `cluster` that have no effect: for another cloud, or for an existing cluster."""

from collections.abc import Iterator, Mapping

from gpuyard.findings import Finding, Fix, Path, error
from gpuyard.plan.cluster.ranges import cluster_spec
from gpuyard.plan.draft import Draft
from gpuyard.spec.base import SpecModel
from gpuyard.spec.platform import Cloud, PlatformSpec

_NEVER_MADE = ("existing", "protect")
"""For any cluster, including an existing one."""
_OF_A_GIVEN_ONE = (*_NEVER_MADE, "zones", "network")
"""For an existing cluster, the zones and subnets of its nodes matter too."""
_GCP_WORDS: tuple[Path, ...] = (
    ("release_channel",),
    ("maintenance",),
    ("endpoint", "dns"),
    ("network", "pods"),
)
_AWS_WORDS: tuple[Path, ...] = (
    ("support",),
    ("logs", "retention_days"),
    ("network", "endpoints"),
    ("network", "tags"),
    ("network", "subnets", "public"),
)
_ELSEWHERE: Mapping[Cloud, tuple[Cloud, tuple[Path, ...]]] = {
    Cloud.AWS: (Cloud.GCP, _GCP_WORDS),
    Cloud.GCP: (Cloud.AWS, _AWS_WORDS),
}


def check_cluster_options(draft: Draft) -> list[Finding]:
    """Reject fields that would have no effect."""
    spec = draft.spec
    if spec.cluster is None:
        return []
    if spec.cloud not in _ELSEWHERE:
        problem = "applies only to a cluster that gpuyard creates on aws or gcp"
        return [_finding((word,), problem) for word in _written(spec.cluster, _NEVER_MADE)]
    if spec.cluster.existing:
        problem = "applies only to a cluster that gpuyard creates, and this one exists already"
        fine = (*_OF_A_GIVEN_ONE, *_ways_in(spec))
        findings = [_finding((word,), problem) for word in _written(spec.cluster, fine)]
        network = spec.cluster.network
        if network.model_fields_set and network.id is None:
            findings.append(_finding(("network",), problem))
        return findings
    return list(_of_the_other_cloud(draft))


def _ways_in(spec: PlatformSpec) -> tuple[str, ...]:
    """The DNS endpoint may be the only one of an existing GKE cluster too."""
    dns = cluster_spec(spec).endpoint.model_fields_set == {"dns"}
    return ("endpoint",) if dns and spec.cloud is Cloud.GCP else ()


def _written(model: SpecModel, fine: tuple[str, ...]) -> list[str]:
    """The fields that are set, in the order of the reference, except these."""
    return [w for w in type(model).model_fields if w in model.model_fields_set and w not in fine]


def _of_the_other_cloud(draft: Draft) -> Iterator[Finding]:
    other, words = _ELSEWHERE[draft.spec.cloud]
    for path in words:
        model: SpecModel | None = cluster_spec(draft.spec)
        for step in path[:-1]:
            model = getattr(model, str(step), None)
        if model is not None and path[-1] in model.model_fields_set:
            yield _finding(path, f"applies to {other.value} only")


def _finding(path: Path, problem: str) -> Finding:
    at: Path = ("cluster", *path)
    word = path[-1]
    return error(
        "cluster.word",
        at,
        f"`{word}` {problem}",
        allowed="the fields for this cloud in docs/reference/stack-file.md",
        fix=Fix(message=f"remove `{word}`", at=at),
    )
