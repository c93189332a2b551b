"""Objects as Kubernetes will see them: pure functions from a plan to plain values and text."""
