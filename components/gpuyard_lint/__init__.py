"""GPU rules for files: Kubernetes YAML, Helm charts, kustomizations, Terraform, Pulumi."""

from pathlib import Path

from gpuyard_core.terminal.guard import PROGRAM
from gpuyard_core.terminal.pages import shipped_folder

PROGRAM_NAME = "gpuyard-lint"


def rules_folder() -> Path:
    """The folder with the documentation of rules."""
    return shipped_folder(__file__, "rules", "docs/rules")


def lint_command() -> str:
    """The command that runs, for messages."""
    return PROGRAM_NAME if PROGRAM.get() == PROGRAM_NAME else "gpuyard lint"


def page_command(rule: str) -> str:
    """The command that shows the documentation of a rule."""
    return (
        f"{PROGRAM_NAME} --explain {rule}"
        if PROGRAM.get() == PROGRAM_NAME
        else f"gpuyard why {rule}"
    )
