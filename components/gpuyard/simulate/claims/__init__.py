"""The fake DRA driver: device classes of the operator, and slices of what each node has."""
