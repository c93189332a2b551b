"""The fake of what hands out network adapters: the RDMA device plugin, from its own ConfigMap."""
