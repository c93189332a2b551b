"""Access to a new cluster: its endpoint is private to its network, unless configured otherwise."""

from collections.abc import Iterator

from gpuyard.plan.cluster.ranges import cluster_spec
from gpuyard.provider import provider_of
from gpuyard.spec.platform import PlatformSpec
from gpuyard.spec.sections import Apply
from gpuyard_core.findings import Diagnostic, Fix, info


def private_endpoint_findings(spec: PlatformSpec) -> Iterator[Diagnostic]:
    """`pulumi up` creates cloud resources from anywhere, but cluster resources from inside only."""
    endpoint = cluster_spec(spec).endpoint
    way_in = provider_of(spec.cloud).endpoint_example
    is_managed = way_in and not spec.cluster_exists and spec.apply is Apply.CLUSTER
    if is_managed and not endpoint.public and not endpoint.dns:
        yield info(
            "cluster.private",
            ("cluster", "endpoint") if spec.cluster else ("cluster",),
            "the Kubernetes API is reachable from the cluster's network only: elsewhere `pulumi up` creates"
            " the cloud resources, but cannot reach the cluster",
            fix=Fix(message=f"run `pulumi up` in that network or a connected one, or add {way_in}"),
        )
