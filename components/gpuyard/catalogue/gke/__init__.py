"""What GKE wants to be told: `nodes` of its node pools, `networks` of its clusters and fabrics, `sharing` of its GPUs."""
