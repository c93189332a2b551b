"""Idle reclaim: warns people whose GPUs do nothing, and suspends what goes on doing nothing.

A program of its own that runs every few minutes in the cluster, in an image that has Python and nothing
else: standard library only, and nothing of gpuyard. What both must agree on it reads from its settings,
which gpuyard renders. docs/concepts/idle.md says what people see of it.
"""
