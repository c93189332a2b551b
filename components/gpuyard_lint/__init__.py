"""GPU rules for files: Kubernetes YAML, Helm charts, kustomizations, Terraform, Pulumi."""

from pathlib import Path

from gpuyard_core.terminal.pages import shipped_folder


def rules_folder() -> Path:
    """The folder with the documentation of rules."""
    return shipped_folder(__file__, "rules", "docs/rules")
