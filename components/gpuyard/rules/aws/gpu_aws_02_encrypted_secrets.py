"""GPU-AWS-02: secrets are encrypted with a key of your own."""

from collections.abc import Iterator

from gpuyard.findings import Severity
from gpuyard.rules.rule import (
    Parameters,
    Reference,
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
            "secrets in etcd are under a key of AWS's, which you can neither audit nor take back",
            "give encryptionConfig a KMS key of yours, with resources: [secrets]",
            is_advisory=True,
        )


RULE = Rule(
    id="GPU-AWS-02",
    title="EKS secrets are encrypted with a customer key",
    severity=Severity.WARNING,
    why="Registry credentials and model keys stand in secrets; auditors ask whose key is around them.",
    fix="Give the cluster an encryptionConfig with a KMS key of yours; it cannot be taken away again.",
    sources=("EKS user guide, envelope encryption: an AWS key by default",),
    references=(Reference("CIS EKS 1.8.0", "5.3.1"),),
    kinds=("aws:eks/Cluster",),
    check=_check,
)
