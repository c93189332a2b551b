"""ComputeClasses of GKE: the label and the taint of their nodes."""

from gpuyard_core.catalogue.gke.classes import CLASS_LABEL
from gpuyard_core.manifests.pods import Taint


def class_label(name: str) -> dict[str, str]:
    """The label that nodes have and pods select."""
    return {CLASS_LABEL: name} if name else {}


def class_taint(name: str) -> tuple[Taint, ...]:
    """The taint that keeps other pods off: without it GKE reports the class as misconfigured."""
    return (Taint(CLASS_LABEL, name),) if name else ()
