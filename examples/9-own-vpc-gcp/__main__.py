"""A GPU platform on GKE in a network, with a key and an account of the same program, and resources on its outputs."""

import pulumi
import pulumi_gcp as gcp
import pulumi_kubernetes as k8s

from gpuyard.resources import Platform, await_registrations

network = gcp.compute.Network("network", auto_create_subnetworks=False)
subnet = gcp.compute.Subnetwork(
    "nodes",
    network=network.id,
    ip_cidr_range="10.0.0.0/20",
    private_ip_google_access=True,
)
ring = gcp.kms.KeyRing("ring", location="us-central1")
key = gcp.kms.CryptoKey("key", key_ring=ring.id, rotation_period="7776000s")
nodes = gcp.serviceaccount.Account("nodes", account_id="gpu-nodes")

platform = Platform(
    "platform",
    {
        "platform": {
            "name": "lab",
            "cloud": "gcp",
            "kubernetes": "1.36",
            "cluster": {
                "network": {"id": network.name, "subnets": {"private": [subnet.name]}},
                "key": key.id,
                "roles": {"nodes": nodes.email},
                "protect": False,  # True in production: the cluster and its nodes cannot be deleted
            },
            "system": {"machine": "e2-standard-4", "nodes": 3},
            "pools": [
                {
                    "name": "train",
                    "machine": "g2-standard-96",
                    "nodes": 2,
                    "zones": ["us-central1-a"],
                },
            ],
            "teams": [{"name": "vision", "guarantee": {"train": 16}}],
        },
    },
)

gcp.container.NodePool(
    "tools",
    cluster=platform.gke.cluster.name,
    location=platform.gke.cluster.location,
    node_count=1,
    node_config={"machine_type": "e2-standard-4", "service_account": nodes.email},
)
k8s.core.v1.ConfigMap(
    "platform",
    metadata={"name": "platform", "namespace": "default"},
    data={"team": platform.teams["vision"].local_queue},
    opts=pulumi.ResourceOptions(provider=platform.provider),
)
pulumi.export("kubeconfig", platform.kubeconfig)
await_registrations()
