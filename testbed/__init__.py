"""Test bed: a machine with only package registries runs the real engine and a real control plane."""
