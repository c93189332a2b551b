"""Rules on sharing of GPUs."""
