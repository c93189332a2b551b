"""`gpuyard lint`."""
