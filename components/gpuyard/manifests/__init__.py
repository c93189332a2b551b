"""Kubernetes as written: quantities, pods, and workloads of every kind; no spec, no plan."""
