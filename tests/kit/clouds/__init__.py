"""Graphs of clouds, for tests."""
