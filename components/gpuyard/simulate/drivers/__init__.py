"""The fake upgrade controller of the GPU Operator: another driver, node by node."""
