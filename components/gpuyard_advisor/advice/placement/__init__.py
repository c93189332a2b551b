"""Placement: which node and GPU a pod gets, which GPU a slice gets, which slices a service gets."""
