"""What was changed after it was counted, as a policy of its own: it looks at what Kueue writes.

A job that waits may change, and Kueue (v0.19.2) writes its workload anew. Its scheduler writes what it has
counted without asking whether that still stands (pkg/scheduler/scheduler.go: `admit`, `WithLooseOnApply`).
So a workload that grew in between is admitted with what was counted before, and nothing compares the two
afterwards. What the scheduler has seen stands in the condition that it writes: the API server refuses it,
and Kueue counts anew.
"""

from collections.abc import Iterator

from gpuyard.admission import queued
from gpuyard.admission.requirements import QUEUED
from gpuyard.names import KUEUE_GROUP
from gpuyard.render.admission.cel import maybe, said

RULES = ((KUEUE_GROUP, "*", ("workloads/status",)),)
"""Group, version and resources that are looked at."""


def variables() -> Iterator[tuple[str, str]]:
    """What is looked at, and all that is said."""
    yield "it", "dyn(object)"
    yield "was", "dyn(oldObject)"
    for name, value in (("reserved", "it"), ("before", "was")):
        conditions = maybe(f"variables.{value}", "status.conditions", "[]")
        yield name, f"{conditions}.filter(c, c.type == 'QuotaReserved' && c.status == 'True')"
    # what says nothing of the kind is taken: without it nobody would ever be admitted
    generation = "variables.it.metadata.generation"
    seen = maybe("c", "observedGeneration", generation)
    yield (
        "stale",
        f"variables.before.size() == 0 && variables.reserved.exists(c, {seen} < {generation})",
    )
    sentence = said(QUEUED, queued.STALE, name="variables.it.metadata.name")
    yield "said", f"variables.stale ? {sentence} : ''"
