"""Shapes: workloads that must be able to start, also from zero nodes."""
