"""Inputs that are made up: platforms, pods, slips of the pen, mutated stack files."""
