"""`gpuyard lint` and what belongs to it."""
