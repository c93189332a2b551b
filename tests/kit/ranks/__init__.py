"""Ranks without GPUs: real processes that move real bytes over loopback, with configurable faults."""
