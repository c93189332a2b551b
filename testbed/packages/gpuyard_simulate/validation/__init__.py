"""Validation pods on fake nodes: the real program, with the fake node's hardware as input."""
