"""Kinds that Kueue queues, and the unit of one workload: object, pod group or pod.

Shared by the rendered configuration, the rules, `classify` and `explain`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from gpuyard_core.catalogue.tables import read_keyed
from gpuyard_core.manifests.templates import KINDS, WORKLOADS


class QueueUnit(Enum):
    """What Kueue admits as one."""

    WHOLE = "whole"
    GROUP = "group"
    """A leader with its workers; one object may have several groups."""
    POD = "pod"


@dataclass(frozen=True, slots=True)
class QueuedKind:
    """One kind, as Kueue v0.19.2 knows it (`pkg/controller/jobs`)."""

    plural: str
    unit: QueueUnit = QueueUnit.WHOLE
    by_default: bool = True
    """Whether Kueue's chart enables it, and with it gpuyard's configuration."""
    roles: tuple[str, ...] = ()
    operator: str = ""
    """The operator that runs it, if gpuyard does not install it."""


QUEUED_KINDS: Mapping[str, QueuedKind] = dict(read_keyed("queued_kinds", QueuedKind))
"""By group and kind."""
OPERATORS: Mapping[str, str] = {
    KINDS[kind].name: found.operator for kind, found in QUEUED_KINDS.items() if found.operator
}
"""Operators that gpuyard does not install, by the name of the kind that they run."""
JOBS = tuple(
    kind
    for kind, found in QUEUED_KINDS.items()
    if found.unit is QueueUnit.WHOLE and kind != "Pod" and not kind.startswith("apps/")
)
"""Kinds that Kueue queues by their own label, not by the labels of their pods."""
_BY_DEFAULT = {KINDS[k].name: found for k, found in QUEUED_KINDS.items() if found.by_default}
GANGS = frozenset({n for n, f in _BY_DEFAULT.items() if f.unit is QueueUnit.WHOLE} | {"CronJob"})
"""Names of kinds that are one Kueue workload; for a CronJob, each of its jobs is one. For any other
kind each pod is queued separately, except for a LeaderWorkerSet, where each group is."""
BY_OWNER = frozenset({*_BY_DEFAULT, "CronJob"})
"""Names of kinds whose own label names the queue; Kueue overwrites the label of their pods with
it."""
OPTIONAL: Mapping[str, str] = {
    found.plural.removesuffix("s"): kind
    for kind, found in QUEUED_KINDS.items()
    if not found.by_default and kind in KINDS and KINDS[kind].makes_pods
}
"""Kinds that Kueue's chart leaves out, by the name of their integration; a platform may enable them."""
INTEGRATIONS: Mapping[str, str] = {KINDS[kind].name: name for name, kind in OPTIONAL.items()}
"""The integration of each of them, by the kind's name."""
ROLES: Mapping[str, tuple[str, ...]] = {
    KINDS[kind].name: found.roles for kind, found in QUEUED_KINDS.items() if found.roles
}
"""Roles of the replicas of a kind: Kueue counts no others (`pkg/controller/jobs/kubeflow`)."""
UNQUEUED = frozenset(WORKLOADS) - {KINDS[k].name for k in QUEUED_KINDS if k in KINDS} - {"CronJob"}
"""Names of kinds that Kueue does not know: their pods can have the queue label."""
