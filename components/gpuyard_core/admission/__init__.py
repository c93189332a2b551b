"""Admission of team pods: one predicate for each requirement, over plain manifests.

The API server evaluates the same requirements in CEL (`gpuyard.render.admission`). Both use the
messages of this package, and a test sends the same pods to both.
"""
