"""The Kubernetes API: labels, initial namespaces and classes, and the first minor with MutatingAdmissionPolicy."""

import re

LONGEST_LABEL = 63
"""Maximum characters of a label value, and of the name in its key (api.labels)."""
LONGEST_LABEL_PREFIX = 253
LABEL = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?")
LABEL_PREFIX = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
NAMESPACES = frozenset({"default", "kube-system", "kube-public", "kube-node-lease"})
"""Namespaces that every cluster has (api.namespaces)."""
MUTATES_SINCE = 36
"""The Kubernetes 1 minor from which every API server has MutatingAdmissionPolicy; in 1.34 and 1.35 it is a
beta feature that is off by default (api.mutates)."""

SYSTEM_CLASSES = ("system-cluster-critical", "system-node-critical")
"""The PriorityClasses that every cluster has (privileged-defaults.system-classes)."""
EPHEMERAL_DRIVERS = ("efs.csi.aws.com", "nfs.csi.k8s.io", "smb.csi.k8s.io")
"""CSI drivers that mount an address chosen by the pod (privileged-defaults.ephemeral-drivers)."""


def changes_jobs(kubernetes: str) -> bool:
    """Whether the API server adds missing fields to jobs: priorities and pod failure policies."""
    return int(kubernetes.partition(".")[2]) >= MUTATES_SINCE
