"""Queries to a cloud account before a deployment, and findings from the results."""
