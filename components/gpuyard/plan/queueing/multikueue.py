"""A platform that only queues: its jobs run on other clusters, which Kueue's MultiKueue sends them to.

Its pools stand for what those clusters hold together, so that guarantees, borrowing and fair shares reach
over all of them. No node is made or billed here, and which cluster a job gets is decided there: it goes to
those that are asked, and the first whose own queue admits it runs it.
"""

from collections.abc import Sequence

from gpuyard.catalogue.kubernetes.kueue import ALL_AT_ONCE, IN_STEPS, STEP
from gpuyard.findings import Finding, Fix, Path, error, format_list, info, warning
from gpuyard.names import MULTIKUEUE_SECRET_KEY
from gpuyard.plan.draft import Draft
from gpuyard.plan.records import DispatchPlan, WorkerPlan
from gpuyard.plan.renames import free_name
from gpuyard.spec.platform import PlatformSpec
from gpuyard.spec.queueing import WorkerCluster

FRAMEWORKS = ("batch/job", "pod", "deployment")
"""What is sent. The dispatcher watches each of its kinds on every cluster, and has no connection to one that
lacks a kind: with JobSet among them, no cluster without JobSet would ever be asked."""
KINDS = ("Job", "CronJob", "Pod", "Deployment", "StatefulSet", "ReplicaSet")
"""The same as people write them; what makes pods is sent pod by pod."""
COLLECT_EVERY = "1m"
"""How often what was sent and has no owner any more is deleted there (Kueue's default)."""
LOST_AFTER = "15m"
"""How long a job stays with a cluster that does not answer, before it is sent elsewhere (Kueue's default). It
may still run there, and when the cluster is back the copy that was admitted first stays (Kueue v0.19.2): a
shorter time starts jobs twice, and in vain, after every restart of an API server."""


def plan_dispatch(spec: PlatformSpec) -> DispatchPlan | None:
    """Where jobs are sent, None where they run here.

    A cluster that is asked may start nodes and evict others for a job that another one then runs.
    """
    workers = spec.queueing.clusters
    if not workers:
        return None
    return DispatchPlan(
        config=spec.name,
        check=f"{spec.name}-clusters",
        clusters=tuple(WorkerPlan(w.name, f"{spec.name}-{w.name}", w.secret) for w in workers),
        dispatcher=ALL_AT_ONCE if len(workers) <= STEP else IN_STEPS,
    )


def check_clusters(draft: Draft) -> list[Finding]:
    """Names and secrets that stand for one cluster each, and what makes no sense where no job runs."""
    spec = draft.spec
    if not spec.queueing.clusters:
        return []
    findings = _duplicates(spec.queueing.clusters)
    for index, pool in enumerate(spec.pools):
        path: Path = ("pools", index)
        findings += _unsupported_field((*path, "topology"), "pods are placed", asked=pool.topology)
        findings += _unsupported_field((*path, "sharing"), "claims are met", asked=pool.sharing.dra)
    for index, team in enumerate(spec.teams):
        findings += _unsupported_field(
            ("teams", index, "idle"), "idle GPUs are seen", asked=bool(team.idle)
        )
    findings += _check_budgets(spec)
    return [*findings, _needs(spec)]


def _duplicates(workers: Sequence[WorkerCluster]) -> list[Finding]:
    findings: list[Finding] = []
    names = [w.name for w in workers]
    secrets = [w.secret for w in workers]
    for index, worker in enumerate(workers):
        path: Path = ("queueing", "clusters", index)
        if worker.name in names[:index]:
            findings.append(
                error(
                    "clusters.duplicate",
                    (*path, "name"),
                    "another cluster has the name",
                    value=worker.name,
                    allowed="a name of its own for each cluster",
                    fix=_other((*path, "name"), worker.name, names),
                )
            )
        if worker.secret in secrets[:index]:
            other = names[secrets.index(worker.secret)]
            findings.append(
                error(
                    "clusters.secret",
                    (*path, "secret"),
                    f"the secret leads to {other} already: one cluster would be asked twice for each job,"
                    " and what each of the two sends would be deleted as the other's",
                    value=worker.secret,
                    allowed="a secret of its own for each cluster",
                    fix=_other((*path, "secret"), f"{worker.name}-kubeconfig", secrets),
                )
            )
    return findings


def _other(path: Path, wish: str, used: Sequence[str]) -> Fix:
    """The nearest that nobody has."""
    free = wish if wish not in used else free_name(wish, used)
    return Fix(message=f"write {free}", at=path, value=free)


def _unsupported_field(path: Path, what: str, *, asked: bool) -> list[Finding]:
    """Refuse what is decided where the pods run."""
    word = path[-1]
    if not asked:
        return []
    return [
        error(
            "clusters.pool",
            path,
            f"{what} on the cluster that runs a job, and none runs here",
            value="dra" if word == "sharing" else str(word),
            allowed=f"`{word}` in the stack files of those clusters",
            fix=Fix(message=f"remove `{word}`", at=path),
        )
    ]


def _check_budgets(spec: PlatformSpec) -> list[Finding]:
    """Warn of limits that nothing here can break."""
    paths: list[Path] = [("budget",)] if spec.budget else []
    paths += [
        ("teams", index, "budget_usd_per_month")
        for index, team in enumerate(spec.teams)
        if team.budget_usd_per_month is not None
    ]
    return [
        warning(
            "clusters.budget",
            path,
            "the pools are billed by the clusters that have them, so this limit holds back nothing",
            allowed="a budget in the stack file of each of these clusters",
            fix=Fix(message="remove it", at=path),
        )
        for path in paths
    ]


def _needs(spec: PlatformSpec) -> Finding:
    """What no proof of this stack file can see."""
    names = format_list(w.name for w in spec.queueing.clusters)
    homes = (
        format_list(f"{s.name} ({', '.join(t.queues)})" for t in spec.teams for s in t.spaces)
        or "none, without teams"
    )
    secrets = format_list(w.secret for w in spec.queueing.clusters)
    return info(
        "clusters.workers",
        ("queueing", "clusters"),
        # the engine shows the beginning of a note only, so what somebody must still make comes first
        f"jobs are sent once kueue-system has {secrets}, made by hand, with a way there as"
        f" `{MULTIKUEUE_SECRET_KEY}` and the role of docs/concepts/multikueue.md. Not seen from here: that a"
        f" Kueue runs in {names} with the same namespaces and queues: {homes}. Jobs and pods are sent,"
        " JobSets are not; a gang needs its place in one cluster",
        value=names,
    )
