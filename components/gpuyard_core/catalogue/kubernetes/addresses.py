"""Addresses that are the same on every node: the cloud's metadata service, and DNS servers that are not pods."""

METADATA = (
    *("169.254.169.254/32", "fd00:ec2::254/128", "fd20:ce::254/128"),
    *("168.63.129.16/32", "169.254.170.2/32"),
)
"""EC2 and Compute Engine share the first; the second is EC2's on IPv6, the third Compute Engine's. The fourth
is Azure's, by which a node reaches its platform; the fifth gives credentials on nodes of Amazon ECS
(addresses.metadata, addresses.platform)."""
NODE_DNS = "169.254.20.10/32"
"""NodeLocal DNSCache, which runs on the node: a policy that selects pods does not match it (addresses.node-dns)."""
CLOUD_DNS = METADATA[0]
"""With Cloud DNS, GKE configures the node's metadata address as the DNS server of pods; its port 53 serves
DNS only, credentials are on port 80 (addresses.cloud-dns)."""
