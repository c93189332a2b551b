"""Facts about GPUs, MIG geometry, machines, prices and software. Every row has a source."""
