"""GPU-GCP-07: what rests on disks is under a key of your own."""

from collections.abc import Iterator

from gpuyard.findings import Severity
from gpuyard.rules.rule import Parameters, Reference, Resource, Rule, Violation, at, text
from gpuyard.rules.subjects.pools import NODE_POOL, gpu_pool

_CLUSTER = "gcp:container/Cluster"


def _check(resource: Resource, _: Parameters) -> Iterator[Violation]:
    properties = resource.properties
    if resource.group_kind == _CLUSTER:
        if text(at(properties, "databaseEncryption", "state")) != "ENCRYPTED":
            yield Violation(
                ("databaseEncryption",),
                "secrets in etcd are under a key of Google's, which you can neither audit nor take back",
                "set databaseEncryption: {state: ENCRYPTED, keyName: …}",
            )
    elif gpu_pool(resource) is not None and not text(
        at(properties, "nodeConfig", "bootDiskKmsKey")
    ):
        yield Violation(
            ("nodeConfig", "bootDiskKmsKey"),
            "images and scratch data of these nodes rest under a key of Google's",
            "set bootDiskKmsKey",
        )


RULE = Rule(
    id="GPU-GCP-07",
    title="GKE secrets and boot disks are under a customer key",
    severity=Severity.NOTE,
    why="Model weights and registry credentials rest there; auditors ask whose key is around them.",
    fix="Give the cluster and its GPU pools keys of Cloud KMS.",
    sources=("GKE documentation, application-layer secrets encryption, customer-managed keys",),
    references=(Reference("CIS GKE 1.9.0", "5.3.1, 5.9.2"),),
    kinds=(_CLUSTER, NODE_POOL),
    check=_check,
)
