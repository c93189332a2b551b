"""A plan as AWS has it: the network, the cluster, and the node groups of every pool, as plain values."""
