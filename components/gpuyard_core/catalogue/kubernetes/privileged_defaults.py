"""PriorityClasses and CSI drivers that allow a team's pods more than other pods."""

from datetime import date

from gpuyard_core.catalogue.sources import Source

_LOOKED_UP = date(2026, 11, 28)
SYSTEM_CLASSES = ("system-cluster-critical", "system-node-critical")
"""The PriorityClasses that every cluster has."""
SYSTEM_CLASSES_SOURCE = Source(
    "Kubernetes documentation: guaranteed scheduling for critical add-on pods",
    _LOOKED_UP,
    as_of=_LOOKED_UP,
)
EPHEMERAL_DRIVERS = ("efs.csi.aws.com", "nfs.csi.k8s.io", "smb.csi.k8s.io")
"""CSI drivers that mount an address chosen by the pod."""
EPHEMERAL_DRIVERS_SOURCE = Source(
    "kubernetes-csi/csi-driver-nfs and csi-driver-smb deploy/: volumeLifecycleModes Ephemeral;"
    " kubernetes-sigs/aws-efs-csi-driver deploy/: an object without the field, which admins may set",
    _LOOKED_UP,
    as_of=_LOOKED_UP,
)
