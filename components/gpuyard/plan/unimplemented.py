"""Stack file fields that this release does not implement, or only plans: each is reported."""

from collections.abc import Callable, Collection, Iterator, Mapping

from gpuyard.plan.draft import Draft
from gpuyard.plan.records import PoolPlan
from gpuyard.spec.platform import Cloud
from gpuyard.spec.sections import FabricKind, RdmaPlugin
from gpuyard_core.catalogue.software.images import ComponentOwner
from gpuyard_core.findings import Diagnostic, Path, info
from gpuyard_core.models.values import SpecModel

NO_EFFECT: Mapping[str, str] = {
    "tags": "gpuyard creates no cloud resource that could have tags",
}
PLANNED: Mapping[str, str] = {
    "software": "gpuyard installs only Kueue, the GPU Operator, Karpenter, Cluster Autoscaler, kube-prometheus-stack and"
    " the charts of `addons` in these versions",
    "cluster": "the cluster exists already; only `existing` has an effect: it picks the kubeconfig context",
    "targets": "the expected cost uses `utilisation_percent`, but without `observability` on real nodes no"
    " Prometheus measures targets",
}
NOT_SIMULATED: Mapping[str, str] = {
    "storage": "a simulated cluster has no volumes",
    "observability": "pods on simulated nodes run no program",
    "gpu_operator": "a simulated cluster includes its own",
    "addons": "pods on simulated nodes run no program",
}
POOL_PLANNED: Mapping[str, str] = {
    "numa": "gpuyard configures no kubelet here",
}
"""Validated and part of the plan, but not deployed."""
POOL_NOTHING: Mapping[str, str] = {
    "upgrade": "no cloud replaces nodes here",
    "disk_gib": "gpuyard creates no nodes here",
}
_NETWORK_OPERATOR = (
    "gpuyard sets NCCL variables, but you must install the Network Operator, which gives pods the adapters."
    " With `plugin: rdma-device-plugin`, gpuyard installs a device plugin instead"
)
CLOUD_ONLY_FIELDS = frozenset({"tags", "cluster", "numa", "disk_gib", "upgrade"})
"""Fields that have an effect only where gpuyard creates clusters and nodes: on aws and gcp."""


def check_device_plugins(draft: Draft) -> Iterator[Diagnostic]:
    """Report device plugins and drivers that nodes of an existing cluster may lack."""
    if not draft.provider.sells_machines or not draft.spec.cluster_exists:
        return
    lacks = [lack for lack, has in _LACKS.items() if any(map(has, draft.valid_pools.values()))]
    if not lacks:
        return
    them = "them" if lacks[1:] else "it"
    yield info(
        "cloud.yours",
        ("cloud",),
        f"you must install {' and '.join(lacks)}: gpuyard does not, and pods that need"
        f" {them} do not start without {them}",
    )


def _needs_googles_driver(pool: PoolPlan) -> bool:
    software = pool.node_software
    return software is not None and ComponentOwner.DAEMONSET.value in software.owners.values()


_LACKS: Mapping[str, Callable[[PoolPlan], bool]] = {
    "Google's driver installer": _needs_googles_driver,
    "the device plugin of EFA": lambda pool: pool.machine.efa_interfaces > 0,
}
"""Existing clusters may have these, and two of one kind on a node conflict."""


def check_unimplemented(draft: Draft) -> Iterator[Diagnostic]:
    """Report fields of the stack file that this release does not implement."""
    spec = draft.spec
    implemented = CLOUD_ONLY_FIELDS if draft.provider.sells_machines else frozenset[str]()
    for deferred in _messages(spec, _remaining(NO_EFFECT, implemented), ()):
        yield info("section.deferred", *deferred)
    if spec.cluster is not None and spec.cluster.model_fields_set <= {"existing"}:
        implemented |= {"cluster"}
    if draft.observability is not None and spec.cloud is not Cloud.SIMULATED:
        implemented |= {"targets"}
    yield from _planned(spec, _remaining(PLANNED, implemented), ())
    if spec.cloud is Cloud.SIMULATED:
        yield from _planned(spec, NOT_SIMULATED, ())
    planned, nothing = _remaining(POOL_PLANNED, implemented), _remaining(POOL_NOTHING, implemented)
    if spec.cloud is Cloud.SIMULATED:
        nothing["image"] = "simulated nodes boot no image"
    for index, pool in enumerate(spec.pools):
        path: Path = ("pools", index)
        if (
            pool.fabric
            and pool.fabric.kind is not FabricKind.ETHERNET
            and pool.fabric.plugin is not RdmaPlugin.DEVICE_PLUGIN
        ):
            yield info("section.deferred", (*path, "fabric", "plugin"), _NETWORK_OPERATOR)
        for deferred in _messages(pool, nothing, path):
            yield info("section.deferred", *deferred)
        yield from _planned(pool, planned, path)


def _remaining(words: Mapping[str, str], implemented: Collection[str]) -> dict[str, str]:
    return {word: lacks for word, lacks in words.items() if word not in implemented}


def _planned(model: SpecModel, words: Mapping[str, str], path: Path) -> Iterator[Diagnostic]:
    for word, lacks in words.items():
        if word in model.model_fields_set:
            yield info(
                "section.deferred",
                (*path, word),
                f"gpuyard validates `{word}`, but deploys none or only part of it: {lacks}",
            )


def _messages(model: SpecModel, words: Mapping[str, str], path: Path) -> Iterator[tuple[Path, str]]:
    for word, becomes in words.items():
        if word in model.model_fields_set:
            yield (*path, word), (f"`{word}` is valid but has no effect yet: {becomes}")
