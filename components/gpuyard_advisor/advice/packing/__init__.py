"""Packing of slices on GPUs, and of GPUs on machines."""
