"""ComputeClasses of GKE: which pools have one, so that their options are tried in order."""

from gpuyard.catalogue.gke.classes import CLASS_LABEL
from gpuyard.plan.capacity.scaling import scaling_of
from gpuyard.plan.records import Taint
from gpuyard.spec.platform import Cloud, PlatformSpec
from gpuyard.spec.pools import Pool, Scaling
from gpuyard.spec.sections import Provisioning


def compute_class_name(spec: PlatformSpec, pool: Pool) -> str:
    """The name of the pool's class; empty where GKE's autoscaler has no choice.

    A pool with one option has a class too, so that adding an option changes no labels and taints.
    Nodes with queued provisioning are created for a request, whatever a class contains.
    """
    is_managed = spec.cloud is Cloud.GCP and not spec.queueing.clusters
    scales = scaling_of(spec.cloud, pool) is Scaling.AUTOSCALER
    queued = pool.provisioning is Provisioning.QUEUED
    return f"pool-{pool.stable_name}" if is_managed and scales and not queued else ""


def class_label(name: str) -> dict[str, str]:
    """The label that nodes have and pods select."""
    return {CLASS_LABEL: name} if name else {}


def class_taint(name: str) -> tuple[Taint, ...]:
    """The taint that keeps other pods off: without it GKE reports the class as misconfigured."""
    return (Taint(CLASS_LABEL, name),) if name else ()
