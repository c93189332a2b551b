"""Helpers of the tests: builders of specs and manifests, test levels, labs on real clusters."""
