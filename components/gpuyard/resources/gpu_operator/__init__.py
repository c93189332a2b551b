"""NVIDIA's GPU Operator: its component, and a look at one that is there already."""
