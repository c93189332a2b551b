"""Kueue: the limits of one queue, and how MultiKueue dispatches jobs to worker clusters.

Sources: `kueue.transformations`.
"""

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
"""Maximum flavors times covered resources of one resource group (kueue.limits)."""
ALL_AT_ONCE = "kueue.x-k8s.io/multikueue-dispatcher-all-at-once"
IN_STEPS = "kueue.x-k8s.io/multikueue-dispatcher-incremental"
STEP = 3
"""Clusters that the incremental dispatcher nominates first, and again every five minutes (kueue.multikueue)."""
REQUEUE_SECONDS = 1.0
"""How long Kueue batches changes before it tries inadmissible jobs again (kueue.requeue)."""
