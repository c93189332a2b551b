"""Diagnoses of errors of the engine and the cluster."""
