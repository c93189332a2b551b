"""What only a cluster on GKE has inside: drivers, names of networks, the order of its autoscaler."""
