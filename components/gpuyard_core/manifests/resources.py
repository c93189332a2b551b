"""Resources that rules and requirements check, and what violates them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gpuyard_core.findings import Diagnostic, Fix, Path, Severity


@dataclass(frozen=True, slots=True, eq=False)
class Resource:
    """A resource that rules check, from any input format. Compared by identity."""

    kind: str
    """A Kubernetes object is its `apiVersion/Kind`, such as v1/ResourceQuota.

    A cloud resource is `aws:eks/NodeGroup` or `gcp:container/NodePool`, its fields named as Pulumi has them.
    The values of a chart are `values:gpu-operator`, a configuration inside another `config:mig-parted`.
    """
    name: str
    properties: Mapping[str, Any]
    protected: bool | None = None
    """Whether Pulumi rejects its deletion; None if unknown, for example in a manifest."""
    source: str = ""
    """The source, if the input has several: a file, a provider, a module."""

    @property
    def group_kind(self) -> str:
        """The kind without its version."""
        return group_kind(self.kind)

    @property
    def namespace(self) -> str:
        """The namespace of a Kubernetes object, "" if it has none."""
        metadata = self.properties.get("metadata")
        result = metadata.get("namespace") if isinstance(metadata, Mapping) else None
        return result if isinstance(result, str) else ""


@dataclass(frozen=True, slots=True)
class Violation:
    """One problem, before its rule or requirement gives it an id and a severity."""

    path: Path
    problem: str
    fix: str
    resource: Resource | None = None
    """The resource, if the rule checked several; None for the one it was called with."""
    severity: Severity | None = None
    """A severity below that of the rule. A level that a user sets applies to all violations."""
    is_advisory: bool = False
    """A defensible choice: shown separately, unless a user asks for it or sets a level."""

    def diagnostic(self, rule: str, severity: Severity) -> Diagnostic:
        """The diagnostic of a rule or a requirement."""
        fix = Fix(message=self.fix)
        return Diagnostic(rule, self.path, self.problem, severity=severity, fix=fix)


_VERSIONED = len(("group", "version", "kind"))


def group_kind(kind: str) -> str:
    """A Kubernetes kind without its version, `kueue.x-k8s.io/ClusterQueue`; other kinds unchanged."""
    if ":" in kind:
        return kind
    parts = kind.split("/")
    return f"{parts[0]}/{parts[2]}" if len(parts) == _VERSIONED else parts[-1]
