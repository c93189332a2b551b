"""Kubernetes manifests: quantities, pods and workloads of every kind, without spec or plan."""
