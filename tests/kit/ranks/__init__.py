"""Ranks without GPUs: real processes that move real bytes over loopback, and go wrong when told to."""
