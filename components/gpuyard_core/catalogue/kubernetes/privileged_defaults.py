"""PriorityClasses and CSI drivers that allow a team's pods more than other pods."""

SYSTEM_CLASSES = ("system-cluster-critical", "system-node-critical")
"""The PriorityClasses that every cluster has (privileged-defaults.system-classes)."""
EPHEMERAL_DRIVERS = ("efs.csi.aws.com", "nfs.csi.k8s.io", "smb.csi.k8s.io")
"""CSI drivers that mount an address chosen by the pod (privileged-defaults.ephemeral-drivers)."""
