"""Words of the vocabulary that a plan makes nothing of yet, or only plans: each is said, none is ignored."""

from collections.abc import Callable, Collection, Iterator, Mapping

from gpuyard.catalogue.software.images import ComponentOwner
from gpuyard.findings import Finding, Path, info
from gpuyard.plan.draft import Draft
from gpuyard.plan.records import PoolPlan
from gpuyard.spec.base import SpecModel
from gpuyard.spec.platform import Cloud
from gpuyard.spec.sections import FabricKind, RdmaPlugin

NO_EFFECT: Mapping[str, str] = {
    "workloads": "training runtimes and services are not installed",
    "addons": "no add-on is installed",
    "tags": "no cloud resource is made that could carry tags",
}
PLANNED: Mapping[str, str] = {
    "observability": "nothing is installed that measures",
    "software": "of these versions only those of Kueue, the GPU Operator, Karpenter and Cluster Autoscaler"
    " are installed",
    "cluster": "the cluster exists already; only `existing` has an effect: it picks the kubeconfig context",
    "targets": "the expected bill reckons with `utilisation_percent`, but nothing measures targets",
}
NOT_SIMULATED: Mapping[str, str] = {
    "storage": "a simulated cluster has no volumes",
    "gpu_operator": "a simulated cluster has one of its own",
}
POOL_PLANNED: Mapping[str, str] = {
    "numa": "no kubelet is configured",
}
"""Proved and part of the plan; only what would act on it is missing."""
POOL_NOTHING: Mapping[str, str] = {
    "upgrade": "no node is made anew by a cloud",
    "disk_gib": "no node is made that could have the disk",
}
_NETWORK_OPERATOR = (
    "NCCL has its variables; the Network Operator that hands the adapters to pods is yours to install."
    " `plugin: rdma-device-plugin` brings what does it"
)
CLOUD_ONLY_FIELDS = frozenset({"tags", "cluster", "numa", "disk_gib", "upgrade"})
"""Words that are carried out where clusters and nodes are made: on aws and gcp."""


def check_device_plugins(draft: Draft) -> list[Finding]:
    """Say what nodes of a cluster that exists may lack before a pod can ask for what they have."""
    if draft.spec.cloud not in {Cloud.AWS, Cloud.GCP} or not draft.spec.cluster_exists:
        return []
    lacks = [lack for lack, has in _LACKS.items() if any(map(has, draft.valid_pools.values()))]
    if not lacks:
        return []
    are = "are" if lacks[1:] else "is"
    return [
        info(
            "cloud.yours",
            ("cloud",),
            f"{' and '.join(lacks)} {are} not deployed by us: until you install what is missing, pods that"
            " ask for it do not start",
        )
    ]


def _needs_googles_driver(pool: PoolPlan) -> bool:
    software = pool.node_software
    return software is not None and ComponentOwner.DAEMONSET.value in software.owners.values()


_LACKS: Mapping[str, Callable[[PoolPlan], bool]] = {
    "Google's driver installer": _needs_googles_driver,
    "the device plugin of EFA": lambda pool: pool.machine.efa_interfaces > 0,
}
"""A cluster that was there before the platform may have these: two of one kind take each other's place."""


def check_unimplemented(draft: Draft) -> list[Finding]:
    """What the stack file asks for and this release makes nothing of."""
    spec = draft.spec
    implemented = CLOUD_ONLY_FIELDS if spec.cloud in {Cloud.AWS, Cloud.GCP} else frozenset[str]()
    findings = [
        info("section.deferred", *deferred)
        for deferred in _messages(spec, _remaining(NO_EFFECT, implemented), ())
    ]
    if spec.cluster is not None and spec.cluster.model_fields_set <= {"existing"}:
        implemented |= {"cluster"}
    findings += _planned(spec, _remaining(PLANNED, implemented), ())
    if spec.cloud is Cloud.SIMULATED:
        findings += _planned(spec, NOT_SIMULATED, ())
    planned, nothing = _remaining(POOL_PLANNED, implemented), _remaining(POOL_NOTHING, implemented)
    if spec.cloud is Cloud.SIMULATED:
        nothing["image"] = "simulated nodes boot from nothing"
    for index, pool in enumerate(spec.pools):
        path: Path = ("pools", index)
        if (
            pool.fabric
            and pool.fabric.kind is not FabricKind.ETHERNET
            and pool.fabric.plugin is not RdmaPlugin.DEVICE_PLUGIN
        ):
            findings.append(
                info("section.deferred", (*path, "fabric", "plugin"), _NETWORK_OPERATOR)
            )
        findings += [
            info("section.deferred", *deferred) for deferred in _messages(pool, nothing, path)
        ]
        findings += _planned(pool, planned, path)
    return findings


def _remaining(words: Mapping[str, str], implemented: Collection[str]) -> dict[str, str]:
    return {word: lacks for word, lacks in words.items() if word not in implemented}


def _planned(model: SpecModel, words: Mapping[str, str], path: Path) -> list[Finding]:
    return [
        info("section.deferred", (*path, word), f"`{word}` is planned, not carried out: {lacks}")
        for word, lacks in words.items()
        if word in model.model_fields_set
    ]


def _messages(model: SpecModel, words: Mapping[str, str], path: Path) -> Iterator[tuple[Path, str]]:
    for word, becomes in words.items():
        if word in model.model_fields_set:
            yield (*path, word), _text(word, becomes)


def _text(word: str, becomes: str) -> str:
    return f"`{word}` is understood, but nothing is made of it yet: {becomes}"
