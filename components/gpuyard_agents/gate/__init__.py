"""Removes the startup taint from nodes that passed validation, and cordons nodes that failed.

Runs in the cluster as one pod, with its source in a ConfigMap. It has no state of its own: nodes and
validation pods carry all state, so the pod can be replaced at any time.
"""
