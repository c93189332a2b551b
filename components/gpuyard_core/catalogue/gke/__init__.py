"""Settings of GKE: `nodes` for node pools, `networks` for clusters and fabrics, `sharing` for GPUs."""
