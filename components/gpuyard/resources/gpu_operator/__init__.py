"""NVIDIA's GPU Operator: its component, and checks of an existing operator."""
