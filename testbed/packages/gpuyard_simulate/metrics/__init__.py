"""Fake exporters: the metrics of the simulated nodes and pods, as the DCGM exporter and kube-state-metrics serve them."""
