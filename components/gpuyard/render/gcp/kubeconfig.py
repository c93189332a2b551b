"""Access to a GKE cluster: as `gcloud container clusters get-credentials` writes it."""

from gpuyard.plan.cluster.ranges import cluster_spec
from gpuyard.plan.records import PlatformPlan
from gpuyard.plan.records.late import UnresolvedOutput
from gpuyard.render.cloud.kubeconfig import ClusterAccess, https

_HINT = "Install gke-gcloud-auth-plugin: https://cloud.google.com/kubernetes-engine/docs/how-to/cluster-access-for-kubectl"
_MADE = {
    "dns": "controlPlaneEndpointsConfig.dnsEndpointConfig.endpoint",
    "authority": "masterAuth.clusterCaCertificate",
}
_GIVEN = {
    "dns": "controlPlaneEndpointsConfigs.0.dnsEndpointConfigs.0.endpoint",
    "authority": "masterAuths.0.clusterCaCertificate",
}


def gke_reach(plan: PlatformPlan) -> ClusterAccess:
    """By DNS name, with a public certificate, if it is enabled; otherwise by address."""
    spec = cluster_spec(plan.spec)
    outputs = _GIVEN if spec.existing else _MADE
    by_name = spec.endpoint.dns
    return ClusterAccess(
        endpoint=https(UnresolvedOutput(f"cluster.{outputs['dns'] if by_name else 'endpoint'}")),
        authority=None if by_name else UnresolvedOutput(f"cluster.{outputs['authority']}"),
        identity=UnresolvedOutput("cluster.selfLink"),
        run={
            "command": "gke-gcloud-auth-plugin",
            "installHint": _HINT,
            "provideClusterInfo": True,
        },
    )
