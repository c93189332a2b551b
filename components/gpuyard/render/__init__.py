"""Kubernetes objects and cloud resources of a plan, by pure functions, as plain values and text."""
