"""Node agents of GKE: Google's driver installer, and the names of additional networks.

The installer is for nodes whose image has no driver and where GKE installs none. It is Google's own DaemonSet for
Container-Optimized OS. Two things differ: it excludes nodes with Ubuntu, whose disk lacks its image, and machines that
need the newest driver have a DaemonSet of their own.
"""

from pathlib import Path

from gpuyard.plan.records import PlatformPlan, PoolPlan
from gpuyard.render.cloud.templates import filled
from gpuyard.render.gcp.fabric import all_links, fabric_name
from gpuyard.render.gpu_operator.objects import PRIORITY_CLASS
from gpuyard.render.mirror import mirrored
from gpuyard.render.objects import Object, managed_object, node_affinity, node_agent
from gpuyard_core.catalogue.gke.nodes import (
    DISTRIBUTION_LABEL,
    DRIVER_INSTALLER,
    GPU_DRIVER_LABEL,
    GPU_MODEL_LABEL,
    INSTALLER_IMAGE,
    INSTALLER_PAUSE,
    requests_latest_driver,
)
from gpuyard_core.catalogue.machines import MACHINES
from gpuyard_core.catalogue.software.images import ComponentOwner
from gpuyard_core.names import GKE_NETWORKING_GROUP, INSTANCE_TYPE_LABEL

_TREES = Path(__file__).with_suffix(".yaml")


def node_agents(plan: PlatformPlan) -> list[Object]:
    """Additional networks, and Google's driver installer unless the cluster exists already."""
    drivers = [] if plan.spec.cluster_exists else driver_objects(plan)
    return [*network_objects(plan), *drivers]


def driver_objects(plan: PlatformPlan) -> list[Object]:
    """One DaemonSet for each installation mode that a pool needs."""
    needed = {requests_latest_driver(p.machine.type_name) for p in plan.pools if _by_installer(p)}
    return [_installer(plan, latest=latest) for latest in sorted(needed)]


def _by_installer(pool: PoolPlan) -> bool:
    software = pool.node_software
    return software is not None and ComponentOwner.DAEMONSET.value in software.owners.values()


def _installer(plan: PlatformPlan, *, latest: bool) -> Object:
    name = f"{DRIVER_INSTALLER}-latest" if latest else DRIVER_INSTALLER
    pod = filled(
        _TREES,
        "pod",
        priority=PRIORITY_CLASS,
        affinity=_nodes(latest=latest),
        name=DRIVER_INSTALLER,
        image=INSTALLER_IMAGE,
        pause=mirrored(plan.spec, INSTALLER_PAUSE),
        install=filled(_TREES, "install-latest" if latest else "install"),
    )
    return node_agent(plan.name, name, "k8s-app", pod)


def _nodes(*, latest: bool) -> Object:
    """Nodes with GPUs whose driver has no other source."""
    machines = sorted({m.type_name for m in MACHINES.values() if requests_latest_driver(m.name)})
    terms = [
        (GPU_MODEL_LABEL, "Exists", None),
        (GPU_DRIVER_LABEL, "DoesNotExist", None),
        ("cloud.google.com/gke-confidential-nodes-instance-type", "DoesNotExist", None),
        (DISTRIBUTION_LABEL, "In", ["cos"]),
        (INSTANCE_TYPE_LABEL, "In" if latest else "NotIn", machines),
    ]
    matches = [
        {"key": key, "operator": how, **({"values": values} if values else {})}
        for key, how, values in terms
    ]
    return node_affinity(matches)


# ── additional networks ───────────────────────────────────────────────────────────────────────────
def network_objects(plan: PlatformPlan) -> list[Object]:
    """Two objects for each additional network: its location, and its name for pods' interfaces.

    Cards that pods claim have none: resource claims find them.
    """
    objects: list[Object] = []
    for name, link in {e.pod_network_name: e for e in all_links(plan) if e.mode}.items():
        vpc, subnet = fabric_name(plan, link.network), fabric_name(plan, link.subnetwork)
        values = {"vpc": vpc, "subnet": subnet, "mode": link.mode, "name": name}
        for kind in ("GKENetworkParamSet", "Network"):
            spec = filled(_TREES, kind, group=GKE_NETWORKING_GROUP, **values)
            version = f"{GKE_NETWORKING_GROUP}/v1"
            objects.append(managed_object(plan.name, version, kind, name, spec=spec))
    return objects
