"""The command line."""

from collections.abc import Sequence

from gpuyard_gate.look import look, read_settings
from gpuyard_gate.loop import run


def main(arguments: Sequence[str] | None = None) -> int:
    """A look every few seconds."""
    return run("gpuyard_gate", read_settings, look, arguments)
