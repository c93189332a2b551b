"""Watches the GPUCluster, the driver's own DaemonSet and nodes, and writes ResourceSlices.

Without either it creates nothing and removes what it created: no driver answers claims then. Its pod starts
wherever a DaemonSet's would; a later taint ends no running pod. Device classes come with a GPUCluster; the
driver's own chart creates those together with its DaemonSet.
"""

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from gpuyard_core.names import GPU_CLUSTER, OPERANDS_LABEL
from gpuyard_simulate.agents.cache import Watched
from gpuyard_simulate.agents.node import is_fake_node
from gpuyard_simulate.api import Api, ApiError, ApiObject, Unreachable, path_of
from gpuyard_simulate.claims.slices import device_classes, resource_slices
from gpuyard_simulate.tolerations import daemon_set_reaches, tolerations_of

_CLUSTERS: Final = "/apis/nvidia.com/v1alpha1/gpuclusters"
_NODES: Final = "/api/v1/nodes"
_PLUGINS: Final = "/apis/apps/v1/daemonsets"
PLUGIN_IMAGE: Final = "dra-driver-nvidia-gpu"
"""Suffix of the image of the chart's kubelet plugin, before its tag."""
_DOMAINS: Final = "compute-domains"
"""The container that serves claims of compute domains; the one for GPUs is called `gpus`."""
_AGAIN_SECONDS: Final = 1.0


class FakeDraDriver:
    """The fake DRA driver of all nodes, in its own thread."""

    def __init__(self, api: Api, say: Callable[[str], None]) -> None:
        self._api = api
        self._say = say
        self._changed = threading.Event()
        self._clusters = Watched(api, _CLUSTERS, lambda _: self._changed.set())
        self._plugins = Watched(api, _PLUGINS, lambda _: self._changed.set())
        self._nodes = Watched(api, _NODES, lambda _: self._changed.set())
        self._following = False
        self._there: dict[str, ApiObject] = {}
        """Objects that it has written, by path."""

    def start(self) -> None:
        """Write until the process ends."""
        self._clusters.start()
        self._plugins.start()
        threading.Thread(target=self._run, daemon=True, name="dra-driver").start()

    def _run(self) -> None:
        again = False
        while True:
            self._changed.wait(_AGAIN_SECONDS if again else None)
            self._changed.clear()
            try:
                self.publish()
                again = False
            except (ApiError, Unreachable) as problem:
                self._say(f"DRA driver: again in {_AGAIN_SECONDS:.0f} s: {problem}")
                again = True

    def publish(self) -> None:
        """Write what differs from its last writes; nodes are watched from the first driver on."""
        cluster = self._clusters.all().get(GPU_CLUSTER)
        plugins = [pod for each in self._plugins.all().values() if (pod := _plugin_of(each))]
        if (cluster is not None or plugins) and not self._following:
            self._following = True
            self._nodes.start()
        expected = self._required_objects(cluster) if cluster is not None else {}
        expected |= {path_of(each): each for pod in plugins for each in self._by_plugin(pod)}
        for path in self._there.keys() - expected.keys():
            self._remove(path)
        for path, manifest in expected.items():
            if self._there.get(path) != manifest:
                self._api.apply(manifest)
                self._there[path] = manifest

    def _required_objects(self, cluster: ApiObject) -> dict[str, ApiObject]:
        domains = cluster["spec"]["draDriver"].get("computeDomains", {}).get("enabled") is not False
        found = device_classes(domains=domains)
        tolerations = tolerations_of(cluster["spec"])
        for node in self._nodes.all().values():
            found += self._slices(node, domains=domains, starts=_starts(node, tolerations))
        return {path_of(each): each for each in found}

    def _by_plugin(self, pod: Mapping[str, Any]) -> Iterator[ApiObject]:
        """Resources of the driver's own chart on each node where its kubelet plugin starts."""
        domains = any(each["name"] == _DOMAINS for each in pod["containers"])
        for node in self._nodes.all().values():
            labels = node["metadata"].get("labels") or {}
            if (pod.get("nodeSelector") or {}).items() <= labels.items():
                starts = daemon_set_reaches(pod.get("tolerations") or (), node)
                yield from self._slices(node, domains=domains, starts=starts)

    def _slices(self, node: ApiObject, *, domains: bool, starts: bool) -> list[ApiObject]:
        """For a fake node on which the driver's pod starts or runs: a later taint ends none."""
        slices = resource_slices(node, domains=domains) if is_fake_node(node) else []
        return slices if starts or any(path_of(each) in self._there for each in slices) else []

    def _remove(self, path: str) -> None:
        try:
            self._api.call("DELETE", path)
        except ApiError as problem:
            if problem.status != 404:  # noqa: PLR2004  it went with its node
                raise
        del self._there[path]


def _plugin_of(daemon_set: ApiObject) -> Mapping[str, Any] | None:
    """The pod of a DaemonSet that is the driver's kubelet plugin; None of any other."""
    pod: Mapping[str, Any] = daemon_set["spec"]["template"]["spec"]
    names = (each["image"].partition("@")[0].rpartition("/")[2] for each in pod["containers"])
    return pod if any(name.partition(":")[0] == PLUGIN_IMAGE for name in names) else None


def _starts(node: ApiObject, tolerations: Sequence[Mapping[str, Any]]) -> bool:
    """Whether its pod starts there: no label excludes it, and it tolerates every taint."""
    off = (node["metadata"].get("labels") or {}).get(OPERANDS_LABEL) == "false"
    return not off and daemon_set_reaches(tolerations, node)
