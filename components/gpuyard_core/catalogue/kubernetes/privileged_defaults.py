"""PriorityClasses and CSI drivers that allow a team's pods more than other pods."""

from gpuyard_core.catalogue.sources import find_source

SYSTEM_CLASSES = ("system-cluster-critical", "system-node-critical")
"""The PriorityClasses that every cluster has."""
SYSTEM_CLASSES_SOURCE = find_source("privileged-defaults.system-classes")
EPHEMERAL_DRIVERS = ("efs.csi.aws.com", "nfs.csi.k8s.io", "smb.csi.k8s.io")
"""CSI drivers that mount an address chosen by the pod."""
EPHEMERAL_DRIVERS_SOURCE = find_source("privileged-defaults.ephemeral-drivers")
