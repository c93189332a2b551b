"""Capacity of pools: the purchase ladder, scaling, provisioning, warm windows."""
