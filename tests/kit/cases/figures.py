"""The termination message of a validation pod: the golden file that both sides read, and such lines."""

import json

import sizes

FIGURES = sizes.ROOT / "tests" / "validator" / "termination_message.txt"
"""A healthy node, as gpuyard_validator writes it."""


def figures_line(checks, sources=("the plan",), parts=()):
    """The machine-readable line with these rows; `checks` and `parts` may be invalid."""
    document = {"parts": parts, "checks": checks, "sources": list(sources)}
    head = {"schema": "gpuyard.dev/figures/v1"}
    return json.dumps(head | document, separators=(",", ":")) + "\n"
