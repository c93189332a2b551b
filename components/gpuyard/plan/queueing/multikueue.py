"""A platform that only queues: its jobs run on worker clusters, to which Kueue's MultiKueue sends them.

Its pools represent the total of those clusters, so that guarantees, borrowing and fair sharing apply across
all of them. This platform creates and bills no nodes, and the worker clusters decide where a job runs: it
is sent to the nominated clusters, and the first whose own queue admits it runs it.
"""

from collections.abc import Iterator, Sequence

from gpuyard.plan.draft import Draft
from gpuyard.plan.records import MultiKueuePlan, WorkerPlan
from gpuyard.plan.renames import free_name
from gpuyard.spec.platform import PlatformSpec
from gpuyard.spec.queueing import WorkerCluster
from gpuyard_core.catalogue.kubernetes.kueue import ALL_AT_ONCE, IN_STEPS, STEP
from gpuyard_core.findings import Diagnostic, Fix, Path, error, format_list, info, warning
from gpuyard_core.names import MULTIKUEUE_SECRET_KEY

FRAMEWORKS = ("batch/job", "pod", "deployment")
"""The frameworks that are dispatched. Kueue watches each kind on every cluster, and cannot connect to a
cluster that lacks a kind: with JobSet among them, no cluster without JobSet would get a job."""
KINDS = ("Job", "CronJob", "Pod", "Deployment", "StatefulSet", "ReplicaSet")
"""The same as kinds; controllers that create pods are sent pod by pod."""
COLLECT_EVERY = "1m"
"""How often copies without an owner are deleted on the worker clusters (Kueue's default)."""
LOST_AFTER = "15m"
"""How long a job stays with a cluster that does not respond, before it is sent to another (Kueue's default).
It may still run there, and when the cluster is back the copy that was admitted first stays (Kueue v0.19.2):
a shorter time would start jobs twice, for nothing, after every restart of an API server."""


def plan_dispatch(spec: PlatformSpec) -> MultiKueuePlan | None:
    """The worker clusters of the platform; None if jobs run on the platform itself.

    A nominated cluster may start nodes and evict jobs for a job that another cluster then runs.
    """
    workers = spec.queueing.clusters
    if not workers:
        return None
    return MultiKueuePlan(
        config=spec.name,
        check=f"{spec.name}-clusters",
        clusters=tuple(WorkerPlan(w.name, f"{spec.name}-{w.name}", w.secret) for w in workers),
        dispatcher=ALL_AT_ONCE if len(workers) <= STEP else IN_STEPS,
    )


def check_clusters(draft: Draft) -> Iterator[Diagnostic]:
    """Each worker cluster has its own name and Secret, and no field needs jobs that run on this platform."""
    spec = draft.spec
    if not spec.queueing.clusters:
        return
    yield from _duplicates(spec.queueing.clusters)
    for path, what, asked in _fields_of_workers(spec):
        if asked:
            word = path[-1]
            yield error(
                "clusters.pool",
                path,
                f"{what} on the worker cluster that runs the job, and this platform runs none",
                given="dra" if word == "sharing" else str(word),
                allowed=f"`{word}` in the stack files of the worker clusters",
                fix=Fix(message=f"remove `{word}`", at=path),
            )
    # this platform has no bill
    budgets: list[tuple[Path, object]] = [(("budget",), spec.budget)]
    budgets += [
        (("teams", index, "budget_usd_per_month"), team.budget_usd_per_month)
        for index, team in enumerate(spec.teams)
    ]
    for path, budget in budgets:
        if budget is not None:
            yield warning(
                "clusters.budget",
                path,
                "the worker clusters bill the pools, so this limit has no effect",
                allowed="a budget in the stack file of each worker cluster",
                fix=Fix.remove(path),
            )
    yield _needs(spec)


def _fields_of_workers(spec: PlatformSpec) -> Iterator[tuple[Path, str, object]]:
    """Fields that belong to the cluster that runs the pods, and their values."""
    for index, pool in enumerate(spec.pools):
        yield ("pools", index, "topology"), "pods are placed", pool.topology
        yield ("pools", index, "sharing"), "claims are allocated", pool.sharing.dra
    for index, team in enumerate(spec.teams):
        yield ("teams", index, "idle"), "idle GPUs are measured", team.idle
    yield ("queueing", "integrations"), "these kinds are queued", spec.queueing.integrations
    training = spec.workloads.training if spec.workloads else ()
    yield ("workloads", "training"), "training runtimes are used", training


def _duplicates(workers: Sequence[WorkerCluster]) -> Iterator[Diagnostic]:
    names = [w.name for w in workers]
    secrets = [w.secret for w in workers]
    for index, worker in enumerate(workers):
        path: Path = ("queueing", "clusters", index)
        if worker.name in names[:index]:
            yield error(
                "clusters.duplicate",
                (*path, "name"),
                "another cluster has this name",
                given=worker.name,
                allowed="a unique name for each cluster",
                fix=_other((*path, "name"), worker.name, names),
            )
        if worker.secret in secrets[:index]:
            yield error(
                "clusters.secret",
                (*path, "secret"),
                f"{names[secrets.index(worker.secret)]} uses this Secret too: Kueue would send each job to the"
                " same cluster twice, and delete one entry's copy as the other's",
                given=worker.secret,
                allowed="a different Secret for each cluster",
                fix=_other((*path, "secret"), f"{worker.name}-kubeconfig", secrets),
            )


def _other(path: Path, wish: str, used: Sequence[str]) -> Fix:
    """The fix with the wished name, or the nearest free one."""
    free = wish if wish not in used else free_name(wish, used)
    return Fix.write(free, path)


def _needs(spec: PlatformSpec) -> Diagnostic:
    """What the user must create, and what gpuyard cannot check from this stack file."""
    names = format_list(w.name for w in spec.queueing.clusters)
    homes = (
        format_list(f"{s.name} ({', '.join(t.queues)})" for t in spec.teams for s in t.spaces)
        or "none, without teams"
    )
    secrets = format_list(w.secret for w in spec.queueing.clusters)
    return info(
        "clusters.workers",
        ("queueing", "clusters"),
        # Pulumi shows only the beginning of an info message, so what the user must create comes first
        f"you must create {secrets} in kueue-system, with a kubeconfig as `{MULTIKUEUE_SECRET_KEY}` and the"
        f" role of docs/concepts/multikueue.md. Not checked: that Kueue runs in {names} with the same"
        f" namespaces and queues: {homes}. Kueue dispatches Jobs and pods, not JobSets; a gang must fit in"
        " one cluster",
        given=names,
    )
