"""Explanations of what the engine or the cluster refuses, for people."""
