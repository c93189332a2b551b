"""GPU-GCP-07: what rests on disks is under a key of your own."""

from collections.abc import Iterator

from gpuyard.findings import Severity
from gpuyard.rules.rule import Parameters, Reference, Resource, Rule, Stack, Violation, at, text
from gpuyard.rules.subjects.pools import NODE_POOL, gpu_pool

_CLUSTER = "gcp:container/Cluster"


def _check(resource: Resource, _: Parameters) -> Iterator[Violation]:
    if resource.group_kind == _CLUSTER and not _keyed(resource):
        yield Violation(
            ("databaseEncryption",),
            "secrets in etcd are under a key of Google's, which you can neither audit nor take back",
            "set databaseEncryption: {state: ENCRYPTED, keyName: …}",
            is_advisory=True,
        )


def _check_together(stack: Stack, _: Parameters) -> Iterator[Violation]:
    """Who gave a key to one thing has forgotten these disks; who gave none is told of the cluster."""
    pools = [pool for pool in stack.of(NODE_POOL) if gpu_pool(pool) is not None]
    bare = [pool for pool in pools if not _keyed(pool)]
    if len(bare) == len(pools) and not any(map(_keyed, stack.of(_CLUSTER))):
        return
    for pool in bare:
        yield Violation(
            ("nodeConfig", "bootDiskKmsKey"),
            "images and scratch data of these nodes rest under a key of Google's, other things under yours",
            "set bootDiskKmsKey",
            pool,
        )


def _keyed(resource: Resource) -> bool:
    """Whether it is under a key of the owner's."""
    if resource.group_kind == _CLUSTER:
        return text(at(resource.properties, "databaseEncryption", "state")) == "ENCRYPTED"
    return bool(text(at(resource.properties, "nodeConfig", "bootDiskKmsKey")))


RULE = Rule(
    id="GPU-GCP-07",
    title="GKE secrets and boot disks are encrypted with a customer key",
    severity=Severity.INFO,
    why="Model weights and registry credentials rest there; auditors ask whose key is around them.",
    fix="Give the cluster and its GPU pools keys of Cloud KMS.",
    sources=("GKE documentation, application-layer secrets encryption, customer-managed keys",),
    references=(Reference("CIS GKE 1.9.0", "5.3.1, 5.9.2"),),
    kinds=(_CLUSTER, NODE_POOL),
    check=_check,
    check_stack=_check_together,
)
