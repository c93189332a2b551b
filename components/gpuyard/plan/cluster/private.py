"""Access to a new cluster: its endpoint is private to its network, unless configured otherwise."""

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
    """`pulumi up` creates cloud resources from anywhere, but cluster resources from inside only."""
    endpoint = cluster_spec(spec).endpoint
    is_managed = spec.cloud in _OPENS and not spec.cluster_exists and spec.apply is Apply.CLUSTER
    if is_managed and not endpoint.public and not endpoint.dns:
        yield info(
            "cluster.private",
            ("cluster", "endpoint") if spec.cluster else ("cluster",),
            "the Kubernetes API is reachable from the cluster's network only: elsewhere `pulumi up` creates"
            " the cloud resources, but cannot reach the cluster",
            fix=Fix(
                message=f"run `pulumi up` in that network or a connected one, or add {_OPENS[spec.cloud]}"
            ),
        )
