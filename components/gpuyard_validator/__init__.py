"""Whether the hardware of a node is what the plan asked for: run on GPU nodes, beside nothing but NVML."""
