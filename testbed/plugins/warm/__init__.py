"""Plugins and programs that start from a process with their modules already imported; see ../README.md."""
