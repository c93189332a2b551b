"""Which of a team's queues goes first where use is counted, on a real Kueue.

Everything is as the platform renders it, but that use is looked at every second and halves in a minute
instead of a week: what is compared is the same. No test looks at a clock: each waits for what Kueue itself
says that a queue has used, and the use of queues that run nothing halves alike, so their order stays.
"""

from collections.abc import Iterator
from typing import Any

import pytest

from gpuyard.render.kueue.configuration import kueue_configuration
from gpuyard_core.manifests.quantities import quantity
from gpuyard_simulate import cluster
from gpuyard_simulate.api import Api
from kit.cluster.lab import KUEUE, Value
from kit.cluster.queues import QueueLab, kueue_as_rendered, one_pool, soon
from kit.stacks import plan_of

pytestmark = [pytest.mark.cluster]

QUICK = {"usageHalfLifeTime": "1m", "usageSamplingInterval": "1s"}


def counting(name: str, other: float = 1, **queueing: Any) -> dict[str, Any]:
    """One node, one team with all of it, and two queues."""
    return one_pool(
        name,
        1,
        a={"guarantee": 8, "queues": {"default": 1, "other": other}},
        queueing={"usage_half_life_hours": 168, **queueing},
        priorities={"high": 100},
    )


@pytest.fixture(scope="module")
def kueue(started: cluster.Outcome) -> Iterator[Api]:
    """The cluster with Kueue set up as these platforms set it up, in a hurry."""
    raw = counting("any")
    rendered = kueue_configuration(plan_of(raw))["admissionFairSharing"]
    changed = {"admissionFairSharing": rendered | QUICK}
    with kueue_as_rendered(started.status.name, raw, **changed) as api:
        yield api


def status(lab: QueueLab, queue: str) -> Value:
    """What Kueue says of one of the team's queues."""
    found = lab.api.get(f"{KUEUE}/namespaces/{lab.namespace('a')}/localqueues/{queue}") or {}
    return dict(found.get("status") or {})


def used(lab: QueueLab, queue: str) -> float:
    """GPUs that a queue has used, as Kueue last wrote it down: a mean in which old use fades."""
    share = status(lab, queue).get("fairSharing", {}).get("admissionFairSharingStatus", {})
    amount = quantity((share.get("consumedResources") or {}).get("nvidia.com/gpu", "0"))
    assert amount is not None
    return float(amount)


def waiting(lab: QueueLab, queue: str) -> int:
    """How many jobs wait in a queue, by Kueue's own count."""
    return int(status(lab, queue).get("pendingWorkloads") or 0)


def fill(lab: QueueLab, queue: str, *, until: float, priority: str = "") -> None:
    """Let a job use the whole node until its queue has used so much; it goes on."""
    lab.submit("a", f"uses-{queue}", queue=queue, priority=priority)
    lab.expect("a", f"uses-{queue}", "admitted")
    soon(lambda: used(lab, queue) > until, f"{queue} to have used {until}")


def line_up(lab: QueueLab, *queues: str) -> None:
    """Two jobs each, one queue after the other, all behind one that runs."""
    for queue in queues:
        for index in range(2):
            lab.submit("a", f"{queue}-{index}", queue=queue)
        soon(lambda q=queue: waiting(lab, q) == 2, f"both jobs to wait in {queue}")


def next_after(lab: QueueLab, running: str) -> str:
    """Take away what runs; the job that has its room."""
    names = [name for _, name in lab.jobs]
    lab.withdraw("a", running)
    first = soon(
        lambda: [n for n in names if n != running and lab.state("a", n) == "admitted"],
        "the next job",
    )
    (name,) = first
    return str(name)


def test_the_queue_that_used_less_goes_first_until_it_has_used_more(kueue: Api):
    with QueueLab(kueue, counting("use")) as lab:
        fill(lab, "default", until=0.5)
        line_up(lab, "default", "other")
        assert used(lab, "other") == 0
        first = next_after(lab, "uses-default")
        assert first.startswith("other-"), "those of default came before"
        soon(lambda: used(lab, "other") > 1.5 * used(lab, "default"), "other to use more")
        second = next_after(lab, first)
        assert second.startswith("default-"), "a job of other waits as well, and has waited as long"


def test_use_is_divided_by_the_weight(kueue: Api):
    """Other used more, and less by its weight; taking the weight away turns that round."""
    with QueueLab(kueue, counting("weigh", other=1000)) as lab:
        fill(lab, "default", until=0.5)
        lab.withdraw("a", "uses-default")
        fill(lab, "other", until=1.5 * used(lab, "default"))
        line_up(lab, "default", "other")
        first = next_after(lab, "uses-other")
        assert first.startswith("other-")
        assert used(lab, "other") > used(lab, "default") > used(lab, "other") / 1000
        lab.becomes(counting("weigh"))
        second = next_after(lab, first)
        assert second.startswith("default-")


def evictions(lab: QueueLab, name: str) -> int:
    """How often a job was evicted, by Kueue's own count."""
    stats = (lab.workload("a", name) or {}).get("status", {}).get("schedulingStats", {})
    return sum(int(e["count"]) for e in stats.get("evictions", []))


def test_use_comes_before_priority(kueue: Api):
    """Inside a queue priority decides; between two queues it is asked only where both used the same."""
    with QueueLab(kueue, counting("first", preemption="never")) as lab:
        fill(lab, "default", until=0.5)
        line_up(lab, "default", "other")
        lab.submit("a", "default-high", queue="default", priority="high")
        soon(lambda: waiting(lab, "default") == 3, "all three to wait")
        first = next_after(lab, "uses-default")
        assert first.startswith("other-")
        soon(lambda: used(lab, "other") > 1.5 * used(lab, "default"), "other to use more")
        assert next_after(lab, first) == "default-high"


def test_where_priority_evicts_a_job_may_be_evicted_again_and_again(kueue: Api):
    """What queue.use_before_priority warns of: who was evicted is first again, and takes the room back."""
    with QueueLab(kueue, counting("round")) as lab:
        fill(lab, "default", until=0.5, priority="high")
        lab.submit("a", "low", gpus=1, queue="other")
        lab.submit("a", "urgent", queue="default", priority="high")
        for queue in ("default", "other"):
            soon(lambda q=queue: waiting(lab, q) == 1, f"a job to wait in {queue}")
        lab.withdraw("a", "uses-default")
        least = used(lab, "default")

        def urgent_runs() -> bool:
            nonlocal least
            least = min(least, used(lab, "default"))
            return lab.state("a", "urgent") == "admitted"

        soon(urgent_runs, "the higher one to run")
        lab.expect("a", "low", "waits")
        assert evictions(lab, "low") >= 2
        # Kueue writes down later what other has used; default uses more from now on
        soon(lambda: used(lab, "other") > 0.5 * least, "other to have used about as much")


def test_who_used_more_is_evicted_first(kueue: Api):
    """Among jobs of one team that are worth the same, it would be the newest."""
    raw = one_pool(
        "lent",
        2,
        a={"borrow": 16, "queues": {"default": 1, "other": 1}},
        b={"guarantee": 16},
        queueing={"usage_half_life_hours": 168},
    )
    with QueueLab(kueue, raw) as lab:
        fill(lab, "default", until=0.5)
        fill(lab, "other", until=0)
        lab.submit("b", "owner")
        lab.expect("b", "owner", "admitted")
        lab.expect("a", "uses-default", "waits")
        assert lab.state("a", "uses-other") == "admitted"
