"""Capacity of pools: capacity options, scaling, provisioning, keep-warm windows."""
