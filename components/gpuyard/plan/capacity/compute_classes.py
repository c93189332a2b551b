"""ComputeClasses: which pools of GKE have one, and so a ladder that its autoscaler goes down in order."""

from gpuyard.catalogue.gke.classes import CLASS_LABEL
from gpuyard.plan.capacity.scaling import scaling_of
from gpuyard.plan.records import Taint
from gpuyard.spec.platform import Cloud, PlatformSpec
from gpuyard.spec.pools import Pool, Scaling
from gpuyard.spec.sections import Provisioning


def class_of(spec: PlatformSpec, pool: Pool) -> str:
    """The name of the pool's class; empty where GKE's autoscaler has nothing to choose.

    Also a ladder of one rung has one: a rung added later is then no change of labels and taints. Nodes that
    are queued for come by a request of their own, whatever a class says.
    """
    ours = spec.cloud is Cloud.GCP and not spec.queueing.clusters
    scales = scaling_of(spec.cloud, pool) is Scaling.AUTOSCALER
    queued = pool.provisioning is Provisioning.QUEUED
    return f"pool-{pool.stable_name}" if ours and scales and not queued else ""


def class_label(name: str) -> dict[str, str]:
    """What nodes carry and pods select."""
    return {CLASS_LABEL: name} if name else {}


def class_taint(name: str) -> tuple[Taint, ...]:
    """What keeps all other pods off: without it GKE calls the class misconfigured."""
    return (Taint(CLASS_LABEL, name),) if name else ()
