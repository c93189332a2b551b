"""The device plugin of EFA: pods request a node's adapters from it, and cannot start without it.

It runs on every node whose machine has EFA adapters, also on nodes of other platforms in the
cluster: a second plugin on a node would replace the first one at the kubelet.
"""

from gpuyard.plan.records import PlatformPlan
from gpuyard.render.gpu_operator.objects import PRIORITY_CLASS, agent_tolerations
from gpuyard.render.objects import Object, node_affinity, node_agent, system_tolerations
from gpuyard.render.pulled_image import agent_image
from gpuyard_core.catalogue.machines import MACHINES
from gpuyard_core.catalogue.software.charts import EFA_PLUGIN
from gpuyard_core.names import INSTANCE_TYPE_LABEL

_PLUGINS, _DEVICES = "/var/lib/kubelet/device-plugins", "/dev/infiniband"


def efa_objects(plan: PlatformPlan) -> list[Object]:
    """One DaemonSet if a pool has adapters; an existing cluster may have the plugin already."""
    if plan.spec.cluster_exists or not any(pool.machine.efa_interfaces for pool in plan.pools):
        return []
    return [node_agent(plan.name, EFA_PLUGIN.name, "name", _pods(plan))]


def _pods(plan: PlatformPlan) -> Object:
    types = sorted(each.name for each in MACHINES.values() if each.efa_interfaces)
    adapters = {"key": INSTANCE_TYPE_LABEL, "operator": "In", "values": types}
    volumes = {"device-plugin": _PLUGINS, "infiniband": _DEVICES}
    return {
        "priorityClassName": PRIORITY_CLASS,
        "automountServiceAccountToken": False,
        "hostNetwork": True,
        "tolerations": [*system_tolerations(), *agent_tolerations(plan)],
        "affinity": node_affinity([adapters]),
        "containers": [
            {
                "name": EFA_PLUGIN.name,
                "image": agent_image(plan, EFA_PLUGIN).reference,
                # It opens the adapters' device files, which belong to root.
                "securityContext": {"privileged": True, "runAsUser": 0},
                "resources": {"requests": {"cpu": "10m", "memory": "20Mi"}},
                "volumeMounts": [{"name": n, "mountPath": path} for n, path in volumes.items()],
            }
        ],
        "volumes": [{"name": n, "hostPath": {"path": path}} for n, path in volumes.items()],
    }
