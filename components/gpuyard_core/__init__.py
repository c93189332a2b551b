"""What the packages of gpuyard share: diagnostics, YAML with positions, names, manifests, facts, terminal output."""
