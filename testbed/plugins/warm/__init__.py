"""Plugins and programs that start from a process which has their modules already; see ../README.md."""
