"""In-cluster objects for GKE only: drivers, names of networks, and compute classes."""
