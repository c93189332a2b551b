"""The demo: eight features of a GPU platform, shown with real jobs on the live cluster.

Every scene checks its own result; an unexpected result ends the demo with exit code 1.
"""

import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from gpuyard_core.errors import GpuYardError
from gpuyard_simulate.api import Api, connect
from gpuyard_simulate.cluster import require_own, status
from testbed.yard import broken, serving
from testbed.yard.engine import NAME, ROOT, Engine, engine, make
from testbed.yard.idle import build_programs, watched
from testbed.yard.jobs import Gang, State, look, nodes_of, remove, remove_all, submit, wait
from testbed.yard.up import local_plan

Say = Callable[[str], None]
CLUSTER = NAME or "local"


@dataclass(frozen=True, slots=True)
class Stage:
    """The cluster, engine and output of a scene."""

    api: Api
    say: Say
    pulumi: Engine
    kubeconfig: Path

    def submit(self, gang: Gang) -> None:
        """Submit a job and print it."""
        self.say(f"  submit {gang}")
        submit(self.api, gang)

    def until(self, gang: Gang, done: Callable[[State], bool], message: str) -> State:
        """Wait until a job is in the expected state, and print it."""
        wait(lambda: done(look(self.api, gang)), f"{gang} to be {message}")
        state = look(self.api, gang)
        self.say(f"  {gang.team}/{gang.name}: {message}")
        return state

    def runs_whole(self, gang: Gang) -> None:
        """All pods of the job run."""
        self.until(
            gang,
            lambda s: s.admitted and s.running == gang.pods,
            f"{gang.pods} of {gang.pods} pods run",
        )

    def waits(self, gang: Gang) -> None:
        """None of its pods exists, and the queue reports why."""
        state = self.until(
            gang,
            lambda s: not s.admitted and s.pods == 0 and bool(s.reason),
            f"0 of {gang.pods} pods: it waits",
        )
        self.say(f"    reason in the queue: {state.reason}")

    def end(self, *gangs: Gang) -> None:
        """Remove jobs."""
        for gang in gangs:
            remove(self.api, gang)


def gang_or_nothing(stage: Stage) -> None:
    """A gang starts whole or not at all."""
    first, second = Gang("vision", "pretrain", 2, 8), Gang("speech", "asr-large", 3, 8)
    stage.submit(first)
    stage.runs_whole(first)
    stage.submit(second)
    stage.say("  16 GPUs are free, it needs 24")
    stage.waits(second)
    stage.end(first)
    stage.say("  vision's job ends")
    stage.runs_whole(second)
    stage.end(second)


def borrow(stage: Stage) -> None:
    """A team borrows idle capacity of others, up to its limit."""
    job = Gang("vision", "sweep", 3, 8)
    stage.say("  vision is guaranteed 8 GPUs and may borrow 16")
    stage.submit(job)
    stage.runs_whole(job)
    stage.end(job)


def reclaim(stage: Stage) -> None:
    """A guarantee is reclaimed at once."""
    borrower, owner = Gang("vision", "sweep", 3, 8), Gang("speech", "nightly", 2, 8)
    stage.submit(borrower)
    stage.runs_whole(borrower)
    stage.submit(owner)
    stage.say("  speech is guaranteed 16 GPUs; 8 of them are borrowed")
    stage.runs_whole(owner)
    stage.until(
        borrower,
        lambda s: not s.admitted and s.running == 0,
        "evicted completely, and queued again",
    )
    stage.end(borrower, owner)


def never(stage: Stage) -> None:
    """A job that can never start gets the reason."""
    job = Gang("vision", "too-big", 4, 8)
    stage.say("  vision can use at most 24 GPUs, including everything it may borrow")
    stage.submit(job)
    stage.waits(job)
    stage.end(job)


def fragmented(stage: Stage) -> None:
    """Quota is free, but the free GPUs are on two nodes."""
    full, halves = Gang("speech", "steady", 2, 8), Gang("vision", "halves", 2, 4, spread=True)
    job = Gang("search", "index", 1, 8)
    stage.submit(full)
    stage.runs_whole(full)
    stage.submit(halves)
    stage.runs_whole(halves)
    stage.submit(job)
    stage.say("  8 GPUs of quota are free, as 4 + 4 on two nodes")
    state = stage.until(
        job,
        lambda s: s.admitted and s.running == 0 and bool(s.reason),
        "admitted, but its pod fits onto no node",
    )
    stage.say(f"    reason of the scheduler: {state.reason}")
    stage.end(job, halves, full)


def broken_gpu(stage: Stage) -> None:
    """A GPU fails: validation detects it, its node is cordoned, and its gang runs on other nodes."""
    gang = Gang("vision", "pretrain", 2, 8)
    with broken.with_the_check(stage.pulumi, stage.say):
        wait(lambda: broken.all_passed(stage.api), "all nodes to pass validation")
        stage.submit(gang)
        stage.runs_whole(gang)
        node = nodes_of(stage.api, gang)[0]
        stage.end(gang)
        stage.say(f"  the job ends; on {node} GPU 3 has no spare rows of memory left")
        try:
            for line in broken.breaks(stage.api, node).splitlines():
                stage.say(f"    {line}")
            stage.submit(gang)
            stage.runs_whole(gang)
            elsewhere = nodes_of(stage.api, gang)
            if node in elsewhere:
                raise TimeoutError(f"{gang} ran on {node}, which is cordoned")
            stage.say(f"  it runs on {', '.join(elsewhere)}")
            stage.end(gang)
        finally:
            broken.repair(stage.api, node)
        stage.say(f"  {node} is repaired, has passed validation, and takes jobs again")


def idle_gpu(stage: Stage) -> None:
    """An idle GPU is noticed, priced and reported to its team; the bill of each team is printed."""
    busy, idle = Gang("vision", "pretrain", 1, 8), Gang("speech", "forgotten", 1, 2)
    with watched(stage.api, local_plan(), {busy.name: 0.9}) as monitoring:
        stage.say("  Prometheus and Alertmanager run with the platform's rules and receivers")
        for gang in (busy, idle):
            stage.submit(gang)
            stage.runs_whole(gang)
        stage.say(f"  the GPUs of {busy} are busy, those of {idle} idle")
        stage.say(f"    alert to {idle.team}: {monitoring.notified(idle)}")
        if said := monitoring.alert(busy.team, busy.name):
            raise TimeoutError(f"no alert about {busy}, not: {said}")
        monitoring.statement(stage.say)
        stage.end(busy, idle)


def service(stage: Stage) -> None:
    """A service scales from zero: training gives way, and gets its GPUs back."""
    job = Gang(serving.TEAM, "pretrain", 3, 8)
    with serving.served(stage.api, stage.kubeconfig, stage.pulumi, stage.say) as chat:
        wait(lambda: chat.replicas() == 0, f"{serving.NAME} to scale to zero")
        stage.submit(job)
        stage.runs_whole(job)
        chat.requests = 8
        stage.say(f"  8 requests arrive; {job} holds all GPUs of {job.team}")
        wait(lambda: chat.replicas() == 1, f"{serving.NAME} to scale up")
        stage.say(f"  {serving.NAME}: 1 of 1 replicas runs, because services come before jobs")
        stage.waits(job)
        chat.requests = 0
        wait(lambda: chat.replicas() == 0, f"{serving.NAME} to scale to zero")
        stage.say(f"  no more requests: {serving.NAME} has no replicas")
        stage.runs_whole(job)
        stage.end(job)


SCENES = (gang_or_nothing, borrow, reclaim, never, fragmented, broken_gpu, idle_gpu, service)


def tour(stage: Stage) -> None:
    """All scenes in order, on an otherwise idle platform; the last one needs KEDA, whose build takes long."""
    remove_all(stage.api)
    scenes = [scene for scene in SCENES if scene is not service or not serving.missing_tools()]
    for number, scene in enumerate(scenes, start=1):
        stage.say(f"\n{number}. {(scene.__doc__ or '').strip()}")
        scene(stage)
    stage.say(f"\nAll {len(scenes)} scenes ended as expected. The jobs are deleted.")
    if len(scenes) < len(SCENES):
        stage.say(
            "A scene about a service that scales from zero needs KEDA: build it (ten minutes) with"
            f" `scripts/tools {serving.missing_tools()}`, and run the demo again."
        )


def main() -> int:
    """Run the tour on the cluster that `make up` made."""
    try:
        require_own(CLUSTER, ROOT)
        now = status(CLUSTER)
        if not now.ready:
            sys.stderr.write(
                f"demo: the simulated cluster is not up; run `{make('up', 'local')}` first\n"
            )
            return 4
        build_programs()
        kubeconfig = Path(now.kubeconfig)
        tour(Stage(connect(kubeconfig), print, engine(now.kubeconfig), kubeconfig))
    except GpuYardError as e:
        sys.stderr.write(f"demo: {e}\n")
        return e.exit_code
    except subprocess.CalledProcessError as e:
        sys.stderr.write(f"demo: {e}\n{e.stderr or ''}")
        return 1
    except TimeoutError as e:
        sys.stderr.write(f"demo: {e}; the live cluster does not behave as the tour describes\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
