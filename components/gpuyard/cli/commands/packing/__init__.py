"""`gpuyard pack`: its two commands."""
