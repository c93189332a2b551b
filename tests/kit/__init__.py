"""Helpers of the tests: makers of specs and manifests, levels of proof, labs on real clusters."""
