"""Graphs of clouds, for tests that judge them."""
