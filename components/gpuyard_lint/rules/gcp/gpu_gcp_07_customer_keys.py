"""GPU-GCP-07: data on disks is encrypted with a customer-managed key."""

from collections.abc import Iterator

from gpuyard_core.findings import Severity
from gpuyard_lint.rules.rule import (
    AuditReference,
    Parameters,
    Resource,
    Rule,
    Stack,
    Violation,
    at,
    text,
)
from gpuyard_lint.rules.subjects.pools import NODE_POOL, gpu_pool

_CLUSTER = "gcp:container/Cluster"


def _check(resource: Resource, _: Parameters) -> Iterator[Violation]:
    if resource.group_kind == _CLUSTER and not _keyed(resource):
        yield Violation(
            ("databaseEncryption",),
            "Secrets in etcd are encrypted with a Google-owned key, which you can neither audit nor revoke",
            "set databaseEncryption: {state: ENCRYPTED, keyName: …}",
            is_advisory=True,
        )


def _check_together(stack: Stack, _: Parameters) -> Iterator[Violation]:
    """Disks without a key are reported if another pool or the cluster has one; else only the cluster is."""
    pools = [pool for pool in stack.resources_of_kinds(NODE_POOL) if gpu_pool(pool) is not None]
    bare = [pool for pool in pools if not _keyed(pool)]
    if len(bare) == len(pools) and not any(map(_keyed, stack.resources_of_kinds(_CLUSTER))):
        return
    for pool in bare:
        yield Violation(
            ("nodeConfig", "bootDiskKmsKey"),
            "boot disks of these nodes use a Google-owned key, although you use your own key elsewhere",
            "set bootDiskKmsKey",
            pool,
        )


def _keyed(resource: Resource) -> bool:
    """Whether it is encrypted with a customer-managed key."""
    if resource.group_kind == _CLUSTER:
        return text(at(resource.properties, "databaseEncryption", "state")) == "ENCRYPTED"
    return bool(text(at(resource.properties, "nodeConfig", "bootDiskKmsKey")))


RULE = Rule(
    id="GPU-GCP-07",
    title="GKE secrets and boot disks are encrypted with a customer key",
    severity=Severity.INFO,
    why="They hold model weights and registry credentials; auditors ask for a customer-managed key.",
    fix="Set Cloud KMS keys for the cluster and its GPU pools.",
    sources=("GKE documentation, application-layer secrets encryption, customer-managed keys",),
    references=(AuditReference("CIS GKE 1.9.0", "5.3.1, 5.9.2"),),
    kinds=(_CLUSTER, NODE_POOL),
    check=_check,
    check_stack=_check_together,
)
