"""The fake DRA driver: the operator's device classes, and resource slices of each node."""
