"""Validates GPU sharing: what a pod with one share sees and what it can allocate."""
