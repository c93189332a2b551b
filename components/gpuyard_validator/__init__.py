"""Validation of a node's hardware against the plan. Runs on GPU nodes; its only dependency is NVML."""
