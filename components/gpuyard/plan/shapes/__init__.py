"""Shapes: what must be able to start, from zero nodes too."""
