"""GPU-AWS-02: Secrets are encrypted with a customer-managed key."""

from collections.abc import Iterator

from gpuyard_core.findings import Severity
from gpuyard_lint.rules.rule import (
    AuditReference,
    Parameters,
    Resource,
    Rule,
    Violation,
    at,
    block,
    enum_value,
    items,
)


def _check(resource: Resource, _: Parameters) -> Iterator[Violation]:
    result = block(at(resource.properties, "encryptionConfig"))
    key = at(result, "provider", "keyArn")
    if not key or "secrets" not in map(enum_value, items(result.get("resources"))):
        yield Violation(
            ("encryptionConfig",),
            "Secrets in etcd are encrypted with an AWS-owned key, which you can neither audit nor revoke",
            "set encryptionConfig with your KMS key and resources: [secrets]",
            is_advisory=True,
        )


RULE = Rule(
    id="GPU-AWS-02",
    title="EKS secrets are encrypted with a customer key",
    severity=Severity.WARNING,
    why="Secrets hold registry credentials and model keys; auditors ask for a customer-managed key.",
    fix="Set encryptionConfig of the cluster with your KMS key; you cannot remove it later.",
    sources=("EKS user guide, envelope encryption: an AWS key by default",),
    references=(AuditReference("CIS EKS 1.8.0", "5.3.1"),),
    kinds=("aws:eks/Cluster",),
    check=_check,
)
