"""A model of Kueue 0.19 and the Kubernetes scheduler on plain values, for `explain` and `replay`."""
