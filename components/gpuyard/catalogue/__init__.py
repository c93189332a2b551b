"""Facts: GPUs, MIG geometry, machines, prices, software. Every row says where it comes from."""
