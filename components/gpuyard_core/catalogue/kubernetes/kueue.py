"""Kueue: the limits of one queue, and how MultiKueue dispatches jobs to worker clusters."""

from datetime import date

from gpuyard_core.catalogue.sources import Source

_LOOKED_UP = date(2026, 11, 21)
MAX_FLAVORS = 64
MAX_RESOURCES = 64
"""Maximum flavors, and resources, in one resource group."""
MAX_GROUPS = 16
"""Maximum resource groups in one queue or cohort."""
MAX_FLAVORS_IN_ALL = 256
"""Maximum flavors in all groups of a queue."""
MAX_RESOURCES_IN_ALL = 256
"""Maximum covered resources in all groups of a queue."""
MAX_COMBINATIONS = 512
"""Maximum flavors times covered resources of one resource group."""
LIMITS_SOURCE = Source(
    "Kueue v0.19.2: maxItems of resourceGroups, flavors and coveredResources in the v1beta2 CRD; 256 flavors, 256"
    " covered resources and 512 flavor-resource combinations in pkg/webhooks/clusterqueue_webhook.go",
    date(2026, 11, 28),
    as_of=date(2026, 8, 20),
)
ALL_AT_ONCE = "kueue.x-k8s.io/multikueue-dispatcher-all-at-once"
IN_STEPS = "kueue.x-k8s.io/multikueue-dispatcher-incremental"
STEP = 3
"""Clusters that the incremental dispatcher nominates first, and again every five minutes."""
MULTIKUEUE_SOURCE = Source(
    "Kueue v0.19.2: pkg/controller/admissionchecks/multikueue and workloaddispatcher, its constants and defaults",
    _LOOKED_UP,
    as_of=date(2026, 8, 20),
)
TRANSFORMATIONS_SOURCE = Source(
    "Kueue v0.19.2: resource transformations (workload.go) come before flavors are chosen by quota"
    " (flavorassigner.go)",
    _LOOKED_UP,
    as_of=date(2026, 8, 20),
)
"""Why a quota in compute slices does not distinguish profiles."""
REQUEUE_SECONDS = 1.0
"""How long Kueue batches changes before it tries inadmissible jobs again."""
REQUEUE_SOURCE = Source(
    "Kueue v0.19, pkg/cache/queue/inadmissible_workloads.go: requeueBatchPeriod",
    _LOOKED_UP,
    as_of=date(2026, 8, 20),
)
