"""The fake RDMA device plugin, which advertises network adapters from its own ConfigMap."""
