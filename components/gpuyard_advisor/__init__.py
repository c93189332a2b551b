"""Answers about a platform: what to buy, what jobs would do on it, why one waits, what it costs, whether it is ready.

The commands are those of `gpuyard` (`gpuyard.cli.app`), which lists them where this package is installed.
"""
