"""Measures how fast a pod reads the volumes that jobs read: one node of a pool, against a threshold."""
