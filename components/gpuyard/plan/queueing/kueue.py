"""Kueue settings on which the plan's answers and the rendered configuration must agree."""

from collections.abc import Mapping

from gpuyard.manifests.queued import QUEUED_KINDS
from gpuyard.spec.platform import Cloud, PlatformSpec

WITHOUT_QUOTA = (
    "cpu",
    "memory",
    "ephemeral-storage",
    "pods",
    "hugepages-",
    "vpc.amazonaws.com/",
    "rdma/",
    "networking.gke.io.networks/",
)
"""Beginnings of resource names that queues do not count, see docs/decisions/0008. Network adapters go with
the GPUs of a node; counted, a job that asks for them would have no quota and never start."""
GATES: Mapping[str, bool] = {"ReclaimablePods": False}
"""Features of Kueue. With this one, what is done of a job gives its quota back before the whole is done: a
JobSet or a TrainJob that starts again runs that as well, and Kueue (v0.19.2, `validateReclaimablePodsUpdate`)
takes none of it back."""
QUEUED: Mapping[str, str] = {
    kind: found.plural for kind, found in QUEUED_KINDS.items() if found.by_default
}
"""What can stand in a queue, by group and kind, and its plural: those of Kueue's chart (v0.19.2). Kueue waits
for those whose definition is not installed, and goes on."""
FRAMEWORKS = tuple(kind.removeprefix("apps/").lower() for kind in QUEUED)
"""The same as Kueue's configuration calls them."""


def queued_by_group() -> dict[str, list[str]]:
    """Their plurals by API group."""
    results: dict[str, list[str]] = {}
    for kind, plural in sorted(QUEUED.items()):
        results.setdefault(kind.rpartition("/")[0], []).append(plural)
    return results


START_MINUTES = 30
"""How long an admitted gang may wait for its last pod, where the stack file does not say. Nodes that start
first, drivers and large images fit into it (Kueue v0.19 has the same)."""
SIMULATED_START_MINUTES = 5
"""The same on fake nodes: pods are ready at once when they have one, so only a gang that finds none runs into
this; half an hour would hide it."""
FIRST_REQUEUE_SECONDS = 60
LONGEST_REQUEUE_SECONDS = 3600
"""How long an evicted gang stays away before it queues again: doubled each time, up to the longest. It goes
behind whoever waits, so that others have their turn, and is never given up: who submitted it decides that."""


def start_minutes(spec: PlatformSpec) -> int:
    """How long an admitted gang has until all its pods run."""
    default = SIMULATED_START_MINUTES if spec.cloud is Cloud.SIMULATED else START_MINUTES
    return spec.queueing.start_within_minutes or default


def format_duration(seconds: int) -> str:
    """`1 minute`, `30 minutes`, `1 hour`, `90 minutes`."""
    size, unit = (3600, "hour") if seconds % 3600 == 0 else (60, "minute")
    count = seconds // size
    return f"{count:,} {unit}{'' if count == 1 else 's'}"
