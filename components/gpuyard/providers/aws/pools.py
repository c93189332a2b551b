"""Nodes of AWS: what Cluster Autoscaler reads of them, and how many pods the VPC CNI allows."""

from collections.abc import Mapping

from gpuyard.plan.capacity.scaling import scaling_of
from gpuyard.plan.records import AdvertisedResources
from gpuyard.spec.platform import Cloud
from gpuyard.spec.pools import Pool, Scaling
from gpuyard_core.catalogue.fabric import pod_limit
from gpuyard_core.catalogue.machines import Machine
from gpuyard_core.catalogue.node_pools import ACCELERATOR_LABEL
from gpuyard_core.findings import Diagnostic, Fix, Path, warning


def node_labels(pool: Pool, machine: Machine) -> Mapping[str, str]:
    """The GPU, for which Cluster Autoscaler waits on a new node."""
    if machine.gpu is None or scaling_of(Cloud.AWS, pool) is not Scaling.AUTOSCALER:
        return {}
    return {ACCELERATOR_LABEL: f"nvidia-{machine.gpu.name.lower()}"}


def check_pods(machine: Machine, advertised: AdvertisedResources, path: Path) -> list[Diagnostic]:
    """An EKS node has addresses for a limited number of pods: more shares can never be in use at once."""
    limit = pod_limit(machine)
    offers = sum(a.per_node for a in advertised)
    if limit is None or offers <= limit:
        return []
    return [
        warning(
            "pool.pod_limit",
            (*path, "sharing"),
            f"{machine.name} has addresses for {limit} pods, including agents, but its GPUs are shared in"
            f" {offers} parts: the others stay idle",
            given=f"{offers} parts a node",
            allowed=f"at most {limit} parts a node, without prefix delegation in the VPC CNI",
            fix=Fix(message="share each GPU among fewer pods, or enable prefix delegation"),
        )
    ]
