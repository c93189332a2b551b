"""Which thresholds a pool's nodes are checked against, and which load tests run on them."""
