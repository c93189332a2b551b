"""Sharing of GPUs: MIG, time-slicing, MPS, DRA."""
