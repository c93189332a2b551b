"""The clouds: one class each, with the interface of `gpuyard.provider`."""
