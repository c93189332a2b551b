"""Checks of inference services: names, quota, pools, and whether what they scale on exists."""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator

from gpuyard.plan.capacity.keep_warm import cron_error, unknown_zone
from gpuyard.plan.draft import Draft
from gpuyard.plan.observability.stage import unmeasured_pools
from gpuyard.plan.records import Placement
from gpuyard.plan.renames import free_name, nearest_fix
from gpuyard.plan.workloads.addons import add_addon_fix
from gpuyard.plan.workloads.services import ServiceGroup, groups_of, kind_of, services_of
from gpuyard.spec.platform import Cloud
from gpuyard.spec.queueing import Preemption
from gpuyard.spec.sections import AddonName, ScaleOn, Service, ServiceKind
from gpuyard_core.findings import Diagnostic, Fix, Path, Severity, error, format_list, info, warning
from gpuyard_core.models.values import Range

_CRON, _END_CRON = "0 8 * * 1-5", "0 18 * * 1-5"
_INPUTS = {ScaleOn.QUEUE: "queue", ScaleOn.SCHEDULE: "schedule", ScaleOn.REQUESTS: "query"}
"""The fields of a service that only one metric uses."""
_NODE_MINUTES = 10
"""Time to leave for a node to start."""
_MEASURED = frozenset({ScaleOn.GPU, ScaleOn.REQUESTS})
"""Metrics that Prometheus has."""


def check_services(draft: Draft) -> Iterator[Diagnostic]:
    """Everything that keeps a service from starting, from scaling, or from reaching its maximum."""
    yield from _duplicates(draft)
    yield from _names(draft)
    yield from _gpu_metrics(draft)
    yield from _caches(draft)
    for path, service in services_of(draft):
        for check in _CHECKS:
            yield from check(draft, path, service)
    if draft.all_pools_valid and draft.are_quotas_resolved:
        yield from _capacity(draft)


# ── names ─────────────────────────────────────────────────────────────────────────────────────────
def _duplicates(draft: Draft) -> Iterator[Diagnostic]:
    every = list(services_of(draft))
    names = [group.name for path, service in every for group in groups_of(path, service)]
    seen: set[str] = set()
    for path, service in every:
        own = {group.name for group in groups_of(path, service)}
        if own & seen:
            free = free_name(service.name, names)
            at = (*path, "name")
            yield error(
                "service.duplicate",
                at,
                "an object of another service has this name",
                given=service.name,
                allowed="a unique name for each service",
                fix=Fix.write(free, at),
            )
        seen |= own


def _names(draft: Draft) -> Iterator[Diagnostic]:
    spec = draft.spec
    teams, shapes = {t.name: None for t in spec.teams}, {s.name: None for s in spec.shapes}
    stable_names = {team.name: team.stable_name for team in draft.teams}
    for path, service in services_of(draft):
        if service.team not in teams:
            yield _unknown("team", service.team, teams, (*path, "team"))
        for group in groups_of(path, service):
            if group.shape not in shapes:
                yield _unknown("shape", group.shape, shapes, (*group.path, "shape"))
        if service.priority and service.priority not in spec.priorities:
            yield _unknown("priority", service.priority, spec.priorities, (*path, "priority"))
        if service.model and service.model.dataset:
            stable = stable_names.get(service.team, "")
            known = [each.name for each in draft.storage.datasets_of_team(stable)]
            if service.model.dataset not in known:
                at = (*path, "model", "dataset")
                yield _unknown("dataset", service.model.dataset, known, at)


def _unknown(what: str, name: str, known: Collection[str], path: Path) -> Diagnostic:
    section = {"priority": "priorities", "dataset": "storage.datasets"}.get(what, f"{what}s")
    return error(
        "workloads.unknown",
        path,
        f"no {what} has this name" if what != "dataset" else "the team has no dataset of this name",
        given=name,
        allowed=format_list(known) or f"a {what} under `{section}`",
        fix=nearest_fix(name, known, path, Fix(message=f"add the {what}")),
    )


# ── kinds and add-ons ─────────────────────────────────────────────────────────────────────────────
def _kinds(draft: Draft, path: Path, service: Service) -> Iterator[Diagnostic]:
    """A pod of a Deployment or an InferenceService runs on one node."""
    kind, at = service.kind, (*path, "kind")
    if kind in {None, ServiceKind.LEADER_WORKER_SET}:
        return
    placements = (placed for _, placed in _placements(draft, path, service))
    nodes = [placed.shape.nodes for placed in placements]
    why = ""
    if max(nodes, default=1) > 1:
        why = f"a replica of this shape has pods on {max(nodes)} nodes, and {kind} has one pod"
    elif kind is ServiceKind.INFERENCE_SERVICE and service.prefill:
        why = "KServe has no second group of replicas for prompts"
    if why:
        yield error(
            "service.kind",
            at,
            why,
            given=str(kind),
            allowed=ServiceKind.LEADER_WORKER_SET.value,
            fix=Fix.write("leader-worker-set", at),
        )


def _addons(draft: Draft, path: Path, service: Service) -> Iterator[Diagnostic]:
    placements = (placed for _, placed in _placements(draft, path, service))
    kinds = {kind_of(service, placed.shape.nodes) for placed in placements}
    needs: dict[AddonName, str] = {}
    if ServiceKind.LEADER_WORKER_SET in kinds:
        needs[AddonName.LEADER_WORKER_SET] = "creates the pods of its LeaderWorkerSet"
    if ServiceKind.INFERENCE_SERVICE in kinds:
        needs[AddonName.KSERVE] = "creates the pods of its InferenceService"
    if scales_with_keda(service):
        metrics = format_list(each.value for each in service.scale_on)
        needs[AddonName.KEDA] = f"scales it on {metrics}: an HPA alone reads only CPU"
    for name, purpose in needs.items():
        if not draft.spec.has_addon(name):
            addons = draft.spec.model_dump(mode="json", include={"addons"})["addons"]
            yield error(
                "service.addon",
                path,
                f"it needs the add-on {name}, which {purpose}",
                given=f"addons: {addons}" if addons else "no `addons`",
                allowed=f"addons with {name}",
                fix=add_addon_fix(draft.spec, name),
            )


def scales(service: Service) -> bool:
    """Whether any of its groups scales."""
    groups = groups_of((), service)
    return any(group.replicas.low < group.replicas.high for group in groups)


def scales_with_keda(service: Service) -> bool:
    """Whether it scales on a metric that Kubernetes itself does not have."""
    return scales(service) and any(each is not ScaleOn.CPU for each in service.scale_on)


def _dispatch(draft: Draft, path: Path, _: Service) -> Iterator[Diagnostic]:
    if draft.queueing.dispatch is not None:
        yield error(
            "service.dispatch",
            path,
            "this platform has no nodes: it dispatches jobs to other clusters, and a service runs where its"
            " requests arrive",
            allowed="services in the stack files of the worker clusters",
            fix=Fix(message="move it to the stack file of a worker cluster"),
        )


# ── scaling ───────────────────────────────────────────────────────────────────────────────────────
def _inputs(_: Draft, path: Path, service: Service) -> Iterator[Diagnostic]:
    """Metrics without their input, and inputs without their metric."""
    for metric, field in _INPUTS.items():
        given = getattr(service, field)
        if metric in service.scale_on and not given and metric is not ScaleOn.REQUESTS:
            example = (
                "queue: {sqs: URL}"
                if field == "queue"
                else f'schedule: [{{start: "{_CRON}", end: "{_END_CRON}", replicas: 2}}]'
            )
            yield error(
                "service.input",
                (*path, field),
                f"scale_on: {metric} needs `{field}`",
                allowed=example,
                fix=Fix(message=f"write {example}"),
            )
        if metric not in service.scale_on and given:
            yield warning(
                "service.unused",
                (*path, field),
                f"only scale_on: {metric} uses `{field}`",
                given=f"scale_on: {format_list(each.value for each in service.scale_on)}",
                fix=Fix(
                    message=f"add {metric} to scale_on",
                    at=(*path, "scale_on"),
                    value=[*(each.value for each in service.scale_on), metric.value],
                ),
            )


def _schedule(_: Draft, path: Path, service: Service) -> Iterator[Diagnostic]:
    most = service.replicas.high
    for index, window in enumerate(service.schedule):
        here = (*path, "schedule", index)
        for field, example in (("start", _CRON), ("end", _END_CRON)):
            given = getattr(window, field)
            problem = cron_error(given)
            if field == "end" and given == window.start:
                problem = "the window ends when it starts"
            if problem:
                yield error(
                    "service.schedule",
                    (*here, field),
                    problem,
                    given=given,
                    allowed=f"five fields, such as `{example}`",
                    fix=Fix.write(example, (*here, field)),
                )
        yield from unknown_zone("service.schedule", window.time_zone, here)
        if window.replicas > most:
            yield error(
                "service.schedule",
                (*here, "replicas"),
                "the window has more replicas than the service",
                given=str(window.replicas),
                allowed=f"1 to {most}",
                fix=Fix.write(most, (*here, "replicas"))
                if most
                else Fix(message="write replicas: 0..N for the service"),
            )


def _wakes(_: Draft, path: Path, service: Service) -> Iterator[Diagnostic]:
    """A service without replicas has no GPU activity and no requests of its own."""
    metrics = set(service.scale_on)
    outside = {ScaleOn.QUEUE, ScaleOn.SCHEDULE} | ({ScaleOn.REQUESTS} if service.query else set())
    if metrics & outside:
        return
    for group in groups_of(path, service):
        low, high = group.replicas.low, group.replicas.high
        if low == 0 < high:
            at = (*group.path, "replicas")
            value = str(Range(1, high)) if high > 1 else 1
            yield error(
                "service.wakes",
                at,
                f"without replicas, {format_list(each.value for each in service.scale_on)} measures nothing, so"
                " the service would stay at zero",
                given=str(group.replicas),
                allowed="at least 1 replica; or scale_on with queue or schedule, or with requests and a query of a"
                " gateway",
                fix=Fix.write(value, at),
            )


def _metrics(draft: Draft, path: Path, service: Service) -> Iterator[Diagnostic]:
    """Prometheus, and an exporter on the GPUs."""
    wanted = [each.value for each in service.scale_on if each in _MEASURED]
    if not wanted or not scales(service):
        return
    at = (*path, "scale_on")
    if draft.observability is None:
        yield error(
            "service.metrics",
            at,
            f"no Prometheus has the metrics of scale_on: {format_list(wanted)}",
            given="no `observability`",
            allowed="observability with prometheus: install, existing or managed",
            fix=Fix(message="add observability: {}", at=("observability",), value={}),
        )


def _gpu_metrics(draft: Draft) -> Iterator[Diagnostic]:
    """Services that scale on GPUs that no exporter measures, or that other workloads share."""
    if draft.observability is None or draft.spec.cloud is Cloud.SIMULATED:
        return
    every = [each for each in services_of(draft) if ScaleOn.GPU in each[1].scale_on]
    services = [(path, service) for path, service in every if scales(service)]
    unmeasured = unmeasured_pools(draft) if services else []
    for path, service in services:
        at = (*path, "scale_on")
        pools = {placed.pool.name: placed.pool for _, placed in _placements(draft, path, service)}
        for name, pool in pools.items():
            lacks = name in unmeasured
            problem = f"no DCGM exporter measures the GPUs of {name}"
            shared = f"several pods share a GPU of {name}, and its activity counts those of other workloads, too"
            if lacks or pool.replicas > 1:
                yield Diagnostic(
                    "service.metrics" if lacks else "service.shared_gpu",
                    at,
                    problem if lacks else shared,
                    severity=Severity.ERROR if lacks else Severity.WARNING,
                    given="scale_on: gpu",
                    allowed="requests, queue, schedule or cpu",
                    fix=Fix.write("requests", at),
                )


def _identity(draft: Draft, path: Path, service: Service) -> Iterator[Diagnostic]:
    """KEDA reads the length of a queue with an identity of the cloud that has the queue."""
    queue = service.queue
    given = "" if queue is None else "sqs" if queue.sqs else "pubsub"
    if not given or given == draft.provider.queue_service:
        return
    own = draft.provider.queue_service
    yield error(
        "service.queue_identity",
        (*path, "queue", given),
        f"KEDA has no identity with which to read this queue on cloud: {draft.spec.cloud}",
        given=f"queue: {{{given}: …}}",
        allowed=f"queue: {{{own}: …}}" if own else "sqs with cloud: aws, pubsub with cloud: gcp",
        fix=Fix(message="scale on requests with the query of an exporter of the queue"),
    )


def _loading(draft: Draft, path: Path, service: Service) -> Iterator[Diagnostic]:
    """Kueue evicts a replica that is not ready in time."""
    minutes = draft.queueing.start_minutes
    if draft.spec.cloud is Cloud.SIMULATED or service.load_minutes < minutes:
        return
    need = service.load_minutes + _NODE_MINUTES
    queueing = draft.spec.queueing.model_dump(mode="json", exclude_unset=True)
    yield error(
        "service.load",
        (*path, "load_minutes"),
        f"Kueue evicts a replica that is not ready {minutes} minutes after its admission, which includes the start"
        " of its node",
        given=str(service.load_minutes),
        allowed=f"less than {minutes}, or a larger queueing.start_within_minutes",
        fix=Fix(
            message=f"write queueing.start_within_minutes: {need}",
            at=("queueing",),
            value=queueing | {"start_within_minutes": need},
        ),
    )


# ── capacity ──────────────────────────────────────────────────────────────────────────────────────
def _placements(
    draft: Draft, path: Path, service: Service
) -> Iterator[tuple[ServiceGroup, Placement]]:
    for group in groups_of(path, service):
        if group.path in draft.placements:
            yield group, draft.placements[group.path]


def _capacity(draft: Draft) -> Iterator[Diagnostic]:
    """The maximum of each group in its pool and in the quota, and that of all services of a team."""
    totals: dict[tuple[str, str, str], list[tuple[ServiceGroup, Placement]]] = defaultdict(list)
    for path, service in services_of(draft):
        for group, placed in _placements(draft, path, service):
            high, fit = group.replicas.high, placed.fit
            if high > fit:
                yield _too_many(service, group, placed)
            elif high > placed.fit_guarantee:
                yield _borrows(draft, service, group, placed)
            if placed.quota is not None and high <= fit:
                key = (service.team, placed.pool.name, placed.quota.resource)
                totals[key].append((group, placed))
    for (team, _, _), members in totals.items():
        used, total = 0, sum(placed.units * group.replicas.high for group, placed in members)
        for group, placed in members:
            most = placed.quota.nominal + placed.quota.borrow if placed.quota else 0
            used += placed.units * group.replicas.high
            if used > most:  # the first with which all of them no longer fit
                others = format_list(each.name for each, _ in members if each is not group)
                resource = placed.shape.resource
                yield warning(
                    "service.together",
                    (*group.path, "replicas"),
                    f"at their maximum, {group.name} and {others} need {total} {resource} of"
                    f" {placed.pool.name}, of which {team} can have {most}: replicas of one wait then",
                    given=f"replicas: {group.replicas}",
                    allowed=f"at most {most} {resource} for all services of {team}",
                    fix=Fix(message="lower a maximum, or let the team borrow more"),
                )
                break


def _too_many(service: Service, group: ServiceGroup, placed: Placement) -> Diagnostic:
    """More replicas than the pool holds, or than the quota allows."""
    quota, pool, team = placed.quota, placed.pool.name, service.team
    of_pool = group.replicas.high > placed.fit_pool
    fit = placed.fit_pool if of_pool else placed.fit_quota
    if of_pool:
        why = f"{pool} has at most {placed.pool.nodes.high} nodes, which hold {fit} replicas"
    elif quota is None or not quota.nominal + quota.borrow:
        why = f"{team} has no quota of {placed.shape.resource} in {pool}"
    else:
        why = (
            f"{team} can have {quota.nominal + quota.borrow} {quota.resource} of {pool}, {quota.nominal} guaranteed"
            f" and {quota.borrow} borrowed, and a replica needs {placed.units}"
        )
    at, low = (*group.path, "replicas"), min(group.replicas.low, fit)
    return error(
        "service.pool" if of_pool else "service.quota",
        at,
        why,
        given=f"replicas: {group.replicas}",
        allowed=f"at most {fit} replicas" if fit else "a shape and a team with quota for it",
        fix=Fix.write(str(Range(low, fit)) if low < fit else fit, at)
        if fit
        else Fix(message="guarantee the team as much in that pool, or let it borrow"),
    )


def _caches(draft: Draft) -> Iterator[Diagnostic]:
    """Caches of all replicas of a team beyond its storage: the API server rejects the claims of further replicas."""
    indexes = {team.name: index for index, team in enumerate(draft.spec.teams)}
    used: defaultdict[str, int] = defaultdict(int)
    for path, service in services_of(draft):
        each = service.model.cache_gib if service.model else None
        index = indexes.get(service.team)
        if each is None or index is None or index not in draft.limits:
            continue
        used[service.team] += each * sum(g.replicas.high for g in groups_of(path, service))
        total, most = used[service.team], draft.limits[index].storage_gib
        if total > most:
            limits = draft.spec.teams[index].limits.model_dump(mode="json", exclude_unset=True)
            yield error(
                "service.cache",
                (*path, "model", "cache_gib"),
                f"the caches of all replicas of {service.team} need {total} GiB at their maximum",
                given=str(each),
                allowed=f"at most {most} GiB for all volumes of {service.team}",
                fix=Fix(
                    message=f"write storage_gib: {total} in the limits of {service.team}",
                    at=("teams", index, "limits"),
                    value=limits | {"storage_gib": total},
                ),
            )


def _borrows(draft: Draft, service: Service, group: ServiceGroup, placed: Placement) -> Diagnostic:
    consequence = (
        "which its owner may reclaim at any priority"
        if draft.spec.queueing.preemption is Preemption.RECLAIM
        else "so they wait until other teams leave capacity idle"
    )
    return info(
        "service.borrows",
        (*group.path, "replicas"),
        f"the guarantee of {service.team} in {placed.pool.name} covers {placed.fit_guarantee} of"
        f" {group.replicas.high} replicas: the others run on borrowed capacity, {consequence}",
        given=f"replicas: {group.replicas}",
    )


_Check = Callable[[Draft, Path, Service], Iterator[Diagnostic]]
_CHECKS: tuple[_Check, ...] = (
    _kinds,
    _addons,
    _dispatch,
    _inputs,
    _schedule,
    _wakes,
    _metrics,
    _identity,
    _loading,
)
