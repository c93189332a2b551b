"""The device plugin of EFA: pods ask for a node's adapters by it, and without it none starts that asks.

It runs on every node whose machine has such adapters, also on those of other platforms in the cluster: a
second one on a node would take the first one's place at the kubelet.
"""

from gpuyard.catalogue.machines import MACHINES
from gpuyard.catalogue.software.charts import EFA_PLUGIN
from gpuyard.catalogue.software.digests import pinned
from gpuyard.names import INSTANCE_TYPE_LABEL
from gpuyard.plan.records import PlatformPlan
from gpuyard.render.gpu_operator.objects import PRIORITY_CLASS, agent_tolerations
from gpuyard.render.mirror import mirrored
from gpuyard.render.objects import Object, node_agent, on_nodes, system_tolerations

_PLUGINS, _DEVICES = "/var/lib/kubelet/device-plugins", "/dev/infiniband"


def efa_objects(plan: PlatformPlan) -> list[Object]:
    """One DaemonSet, where a pool has adapters."""
    if not any(pool.machine.efa_interfaces for pool in plan.pools):
        return []
    return [node_agent(plan.name, EFA_PLUGIN.name, "name", _pods(plan))]


def efa_image(plan: PlatformPlan) -> tuple[str, str]:
    """Its repository and tag."""
    tag = EFA_PLUGIN.tag.format(plan.software[EFA_PLUGIN.pin])
    return mirrored(plan.spec, EFA_PLUGIN.image), pinned(EFA_PLUGIN.image, tag)


def _pods(plan: PlatformPlan) -> Object:
    types = sorted(each.name for each in MACHINES.values() if each.efa_interfaces)
    adapters = {"key": INSTANCE_TYPE_LABEL, "operator": "In", "values": types}
    volumes = {"device-plugin": _PLUGINS, "infiniband": _DEVICES}
    return {
        "priorityClassName": PRIORITY_CLASS,
        "automountServiceAccountToken": False,
        "hostNetwork": True,
        "tolerations": [*system_tolerations(), *agent_tolerations(plan)],
        "affinity": on_nodes([adapters]),
        "containers": [
            {
                "name": EFA_PLUGIN.name,
                "image": ":".join(efa_image(plan)),
                # It opens the adapters' own device files, which are root's.
                "securityContext": {"privileged": True, "runAsUser": 0},
                "resources": {"requests": {"cpu": "10m", "memory": "20Mi"}},
                "volumeMounts": [{"name": n, "mountPath": path} for n, path in volumes.items()],
            }
        ],
        "volumes": [{"name": n, "hostPath": {"path": path}} for n, path in volumes.items()],
    }
