"""How programs reach a GKE cluster: as `gcloud container clusters get-credentials` writes it."""

from gpuyard.plan.cluster.ranges import cluster_spec
from gpuyard.plan.records import PlatformPlan
from gpuyard.plan.records.late import Late
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
    """By the DNS name where the stack file opens it: a public authority vouches for it. Else by address."""
    spec = cluster_spec(plan.spec)
    outputs = _GIVEN if spec.existing else _MADE
    by_name = spec.endpoint.dns
    return ClusterAccess(
        endpoint=https(Late(f"cluster.{outputs['dns'] if by_name else 'endpoint'}")),
        authority=None if by_name else Late(f"cluster.{outputs['authority']}"),
        identity=Late("cluster.selfLink"),
        run={
            "command": "gke-gcloud-auth-plugin",
            "installHint": _HINT,
            "provideClusterInfo": True,
        },
    )
