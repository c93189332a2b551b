"""Admission of team pods: one predicate a requirement, over plain manifests.

The API server holds the same in CEL (`gpuyard.render.admission`); both take their sentences from here, and a
test sends the same pods to both.
"""
