"""Positions of values in a YAML text."""
