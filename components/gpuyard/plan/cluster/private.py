"""From where a cluster can be filled: one that is made answers in its own network alone, unless told."""

from collections.abc import Iterator

from gpuyard.findings import Finding, Fix, info
from gpuyard.plan.cluster.ranges import cluster_spec
from gpuyard.spec.platform import Cloud, PlatformSpec
from gpuyard.spec.sections import Apply

_OPENS = {
    Cloud.AWS: "endpoint: {public: [YOUR RANGE]}",
    Cloud.GCP: "endpoint: {dns: true}",
}


def private_endpoint_findings(spec: PlatformSpec) -> Iterator[Finding]:
    """Of a platform that nothing refuses `up` makes the cloud's part from anywhere, the rest from inside."""
    endpoint = cluster_spec(spec).endpoint
    is_managed = spec.cloud in _OPENS and not spec.cluster_exists and spec.apply is Apply.CLUSTER
    if is_managed and not endpoint.public and not endpoint.dns:
        yield info(
            "cluster.private",
            ("cluster", "endpoint") if spec.cluster else ("cluster",),
            "the Kubernetes API answers in the cluster's own network only: from elsewhere `up` makes the"
            " cloud's part, and then reaches nothing inside",
            fix=Fix(
                message=f"run `up` in that network or one joined to it, or add {_OPENS[spec.cloud]}"
            ),
        )
