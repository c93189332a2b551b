"""A platform on GKE as cloud resources: from a plan to plain values."""
