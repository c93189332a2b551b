"""Admission requirements that the API server enforces: CEL, and the objects that contain it."""
