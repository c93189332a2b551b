"""Advice without a plan: class of a job, machine offers, packing of slices."""
