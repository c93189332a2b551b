"""Load on one GPU and its results: copies, matrix products, training steps."""
