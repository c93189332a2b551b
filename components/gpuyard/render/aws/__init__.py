"""A plan on AWS: the network, the cluster and the node groups of every pool, as plain values."""
