"""The fake upgrade controller of the GPU Operator: rolls out a driver node by node."""
