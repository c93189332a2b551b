"""The test bed: the real engine and a real control plane on a machine that reaches only package registries."""
