"""Names of the node agents' configurations: the name changes with the content.

The MIG manager and the device plugin react to a changed node label, never to a changed ConfigMap. An
unchanged layout keeps its name, also if its order in the stack file changes.
"""

from gpuyard.plan.digests import short_digest
from gpuyard.plan.sharing.sharing import SharedGpus

_APART = "."
"""Pool names contain no dot, so configuration names of two pools cannot be equal."""


def mig_config_name(pool: str, gpus: SharedGpus) -> str | None:
    """The name for the layout of each GPU; None if the MIG manager partitions none."""
    layouts = () if gpus.is_gke_managed else gpus.layouts
    cut = {gpu: sorted(layout.counts.items()) for layout in layouts for gpu in layout.gpus}
    return f"{pool}{_APART}{short_digest(sorted(cut.items()))}" if cut else None


def plugin_config_name(pool: str, gpus: SharedGpus) -> str:
    """The name for the sharing mode and its resources; the pool's name if the operator shares no GPU."""
    if gpus.is_gke_managed or (not gpus.layouts and gpus.replicas == 1):
        return pool
    resources = sorted(each.resource for each in gpus.advertised)
    return f"{pool}{_APART}{short_digest(gpus.method.value, gpus.replicas, resources)}"
