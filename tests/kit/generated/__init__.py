"""Generated inputs: platforms, pods, typing errors, mutated stack files."""
