"""Requests of a job, as the API server, Kueue and the scheduler each count them."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

from gpuyard import names
from gpuyard.manifests.fields import items, mapping, mappings
from gpuyard.manifests.gpu_requests import pod_total, requests_several_shares
from gpuyard.manifests.quantities import (
    CPU,
    MEMORY,
    MIB,
    format_amount,
    quantity,
    whole_units,
)
from gpuyard.manifests.queued import BY_OWNER, GANGS
from gpuyard.manifests.workloads import JobRead, PodRead
from gpuyard.plan.records import LimitsPlan
from gpuyard.plan.teams.limits import LEAST_CPU_MILLI, LEAST_MEMORY_MIB
from gpuyard.scheduler.selectors import NodeRequirement, Term, Toleration
from gpuyard.scheduler.topology import TopologyRequest, topology_request

_NATIVE = ("cpu", "memory", "ephemeral-storage", "hugepages-")
_DISK = "ephemeral-storage"


@dataclass(frozen=True, slots=True, kw_only=True)
class PodSet:
    """Pods that are alike."""

    path: str
    count: int
    requests: Mapping[str, int]
    """Of one pod: CPU in thousandths, memory in bytes, devices by number."""
    selector: Mapping[str, str] = field(default_factory=dict[str, str])
    terms: tuple[Term, ...] = ()
    """Required node affinity: one of them must match; none: every node does."""
    tolerations: tuple[Toleration, ...] = ()
    is_anti_affine: bool = False
    """No two of them on one node."""
    topology_request: TopologyRequest | None = None
    """What they say about their place."""
    unset_requests: frozenset[str] = frozenset()
    """What no container names: the namespace's defaults stand in `requests`."""
    largest: Mapping[str, int] = field(default_factory=dict[str, int])
    """Of CPU and memory, the most that one of its containers asks for or is limited to."""


@dataclass(frozen=True, slots=True)
class RejectedRequest:
    """Something the API server does not accept, and what it should be."""

    message: str
    at: str
    value: str | int
    resource: str
    """What more of it would be asked for if it were right; "" where no device is the matter."""
    amount: int
    pod_set: int = 0
    on_node: bool = False
    """True when only the device plugin refuses it, where the pod is to start."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A job, reduced to what decides whether it starts."""

    kind: str
    name: str
    namespace: str
    queue_label: str
    priority_label: str
    """A priority of the queues."""
    priority_class: str
    """A priority of the pods, which counts where no label is."""
    pod_sets: tuple[PodSet, ...]
    rejection: tuple[RejectedRequest, ...]
    cautions: tuple[str, ...]
    groups: int = 0
    """Workloads that each hold pods of every pod set, the same number; 0: each pod queues by itself."""

    @property
    def together(self) -> bool:
        """All pods start or none."""
        return self.kind in GANGS


def request_of(
    job: JobRead, limits: LimitsPlan | None = None, shared: Collection[str] = ()
) -> Request:
    """Read what a job needs; in the namespace of a team, containers that say nothing get its defaults.

    `shared` are names of shares there that do not say that they are.
    """
    pod_requests = [_pod_request(pod, unsaid(limits), shared) for pod in job.pods]
    pod_sets = tuple(
        _pod_set(pod, each.amounts, unsaid(limits), max(1, job.groups))
        for pod, each in zip(job.pods, pod_requests, strict=True)
    )
    cautions = [
        caution
        for pod, each in zip(job.pods, pod_requests, strict=True)
        for caution in _unjudged(pod, each.amounts)
    ]
    by_owner = job.kind in BY_OWNER
    labels = job.own_labels if by_owner else (job.pods[0].labels if job.pods else {})
    classes = [p.priority_class for p in job.pods if p.priority_class]
    return Request(
        kind=job.kind,
        name=job.name,
        namespace=job.namespace,
        queue_label=labels.get(names.QUEUE_LABEL, ""),
        priority_label=labels.get(names.PRIORITY_LABEL, ""),
        priority_class=classes[0] if classes else "",
        pod_sets=pod_sets,
        rejection=(
            *_miscounted(job),
            *(replace(r, pod_set=i) for i, each in enumerate(pod_requests) for r in each.refused),
        ),
        cautions=tuple(dict.fromkeys([*cautions, *_unjudged_kind(job)])),
        groups=job.groups if job.kind == "LeaderWorkerSet" else 0,
    )


def _miscounted(job: JobRead) -> Iterator[RejectedRequest]:
    """Numbers of pods in quotes: the rest is judged as if they were written right."""
    for at, wrong, meant in job.count_errors:
        yield RejectedRequest(f"{at}: {wrong!r} is no whole number", at, meant, "", 0)


def _unjudged_kind(job: JobRead) -> Iterator[str]:
    """What is not known of a job of this kind, or not certain."""
    if job.kind == "TrainJob":
        yield (
            f"its runtime {job.runtime or '(not named)'} is not known here:"
            " containers, selectors and CPU that it adds are not counted"
        )
    elif job.kind not in GANGS and sum(p.count for p in job.pods) > 1:
        one = "group" if job.kind == "LeaderWorkerSet" else "pod"
        if one == "pod" or job.groups > 1:
            yield f"Kueue queues each {one} of a {job.kind} by itself: some may run without all"
    if names.POD_GROUP_LABEL in job.own_labels:
        yield "it belongs to a pod group; the other pods of the group are not counted"


def group_pod_sets(pod_sets: Sequence[PodSet]) -> list[tuple[int, ...]]:
    """Which pod sets share a flavor and a place, by the group that they name; most stand alone."""
    results: dict[str | int, list[int]] = {}
    for index, pods in enumerate(pod_sets):
        if pods.count:
            results.setdefault(
                (pods.topology_request and pods.topology_request.group) or index, []
            ).append(index)
    return [tuple(members) for members in results.values()]


def group_error(pod_sets: Sequence[PodSet]) -> str:
    """Why Kueue takes no such group: it knows a leader and its workers only. "" when it does."""
    for members in group_pod_sets(pod_sets) if len(pod_sets) > 1 else ():
        nears = [
            place_request
            for i in members
            if (place_request := pod_sets[i].topology_request) and place_request.group
        ]
        if not nears:
            continue
        if len(members) != 2:  # noqa: PLR2004  a leader, and its workers
            return f"group {nears[0].group} has {len(members)} pod sets instead of 2"
        if all(pod_sets[i].count > 1 for i in members):
            counts = " and ".join(str(pod_sets[i].count) for i in members)
            return f"group {nears[0].group} has {counts} pods, and one of its pod sets must have 1"
        if len({(n.mode, n.level) for n in nears}) > 1:
            return f"the pod sets of group {nears[0].group} ask for different topologies"
    return ""


def unsaid(limits: LimitsPlan | None) -> Counter[str]:
    """What a container asks for that names none of it."""
    if limits is None:
        return Counter()
    return Counter({CPU: LEAST_CPU_MILLI, MEMORY: LEAST_MEMORY_MIB * MIB})


def _pod_set(
    pod: PodRead, amounts: Mapping[str, int], default: Counter[str], groups: int
) -> PodSet:
    spec = pod.spec
    affinity = mapping(spec, "affinity")
    largest = _largest(pod)
    return PodSet(
        path=pod.path,
        count=pod.count,
        requests={name: amounts[name] for name in sorted(amounts) if name != _DISK},
        selector={
            k: v
            for k, v in mapping(spec, "nodeSelector").items()
            if isinstance(k, str) and isinstance(v, str)
        },
        terms=_terms(affinity),
        tolerations=tuple(_toleration(t) for t in mappings(spec, "tolerations")),
        is_anti_affine=any(
            _keeps_apart(term, pod) for term in _required(affinity, "podAntiAffinity")
        ),
        topology_request=topology_request(pod.annotations, pod.count // groups),
        unset_requests=frozenset(default) - largest.keys(),
        largest=largest,
    )


def _unjudged(pod: PodRead, amounts: Mapping[str, int]) -> Iterator[str]:
    """What pods ask for that is not judged here."""
    if pod.claims:
        yield "each of its resource claims (DRA) is taken for one GPU; what they say is not read"
    if mappings(pod.spec, "topologySpreadConstraints"):
        yield "its topology spread constraints are not judged"
    affinity = mapping(pod.spec, "affinity")
    for term in _required(affinity, "podAntiAffinity"):
        if not _keeps_apart(term, pod):
            yield "a rule that keeps it away from other pods is not judged"
    if _required(affinity, "podAffinity"):
        yield "a rule that keeps it near other pods is not judged"
    if amounts.get(_DISK):
        yield "its ephemeral storage is not judged: how large a node's disk is stands elsewhere"


def _required(affinity: Mapping[Any, Any], kind: str) -> list[Mapping[Any, Any]]:
    return mappings(mapping(affinity, kind), "requiredDuringSchedulingIgnoredDuringExecution")


def _keeps_apart(term: Mapping[Any, Any], pod: PodRead) -> bool:
    """Whether a rule keeps pods off nodes of their own kind."""
    match_labels = mapping(term, "labelSelector", "matchLabels")
    ours = bool(match_labels) and all(pod.labels.get(k) == v for k, v in match_labels.items())
    return ours and term.get("topologyKey") == names.HOSTNAME_LABEL


def _terms(affinity: Mapping[Any, Any]) -> tuple[Term, ...]:
    required = mapping(affinity, "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution")
    return tuple(
        tuple(
            NodeRequirement(
                str(e.get("key", "")),
                str(e.get("operator", "")),
                tuple(str(v) for v in items(e, "values")),
            )
            for key in ("matchExpressions", "matchFields")
            for e in mappings(term, key)
        )
        for term in mappings(required, "nodeSelectorTerms")
    )


def _toleration(value: Mapping[Any, Any]) -> Toleration:
    return Toleration(
        *(
            result if isinstance(result := value.get(key), str) else ""
            for key in ("key", "operator", "value", "effect")
        )
    )


def _largest(pod: PodRead) -> dict[str, int]:
    results: dict[str, int] = {}
    for key in ("initContainers", "containers"):
        for _, container in _containers(pod, key):
            for part in ("limits", "requests"):
                resources = mapping(container, "resources", part)
                for name in (CPU, MEMORY):
                    amount = quantity(resources.get(name))
                    if amount is not None:
                        results[name] = max(whole_units(name, amount), results.get(name, 0))
    return results


@dataclass(frozen=True, slots=True)
class _Asked:
    """What containers ask for, and what of it the API server does not accept."""

    amounts: Counter[str]
    refused: tuple[RejectedRequest, ...]


def _pod_request(pod: PodRead, default: Counter[str], shared: Collection[str]) -> _Asked:
    """What the scheduler reserves for one pod, its overhead and its claims included."""
    init = [
        (c, _container_request(c, at, default, shared))
        for at, c in _containers(pod, "initContainers")
    ]
    main = [_container_request(c, at, default, shared) for at, c in _containers(pod, "containers")]
    total = pod_total(((c, asks.amounts) for c, asks in init), (asks.amounts for asks in main))
    for name, value in mapping(pod.spec, "overhead").items():
        if isinstance(name, str) and (amount := quantity(value)) and amount > 0:
            total[name] += whole_units(name, amount)
    if pod.claims:
        total[names.GPU_CLAIM] = pod.claims
    refused = (r for asks in (*(asks for _, asks in init), *main) for r in asks.refused)
    return _Asked(total, tuple(refused))


def _containers(pod: PodRead, key: str) -> list[tuple[str, Mapping[Any, Any]]]:
    return [
        (f"{pod.path}.{key}[{i}].resources", c)
        for i, c in enumerate(items(pod.spec, key))
        if isinstance(c, Mapping)
    ]


def _container_request(
    container: Mapping[Any, Any], where: str, default: Counter[str], shared: Collection[str]
) -> _Asked:
    """What one container asks for; what it does not name is the default."""
    resources = mapping(container, "resources")
    limits, requests = mapping(resources, "limits"), mapping(resources, "requests")
    amounts: Counter[str] = Counter()
    refused: list[RejectedRequest] = []
    shares = requests_several_shares(limits, shared)
    for name in dict.fromkeys([*limits, *requests]):
        if not isinstance(name, str):
            continue
        value = requests.get(name, limits.get(name))
        amount = quantity(value)
        if amount is None or amount < 0:
            part = "requests" if name in requests else "limits"
            message = f"{name}: {value!r} is no quantity"
            refused.append(RejectedRequest(message, f"{where}.{part}.{name}", 1, name, 1))
            continue
        if not name.startswith(_NATIVE):
            problem = _not_acceptable(name, limits, requests, where)
            if problem is not None:
                refused.append(problem)
                continue
            if name in shares:
                refused.append(_one_share(name, amount, f"{where}.limits.{name}"))
                continue
        amounts[name] += whole_units(name, amount)
    amounts.update({name: n for name, n in default.items() if name not in amounts})
    return _Asked(amounts, tuple(refused))


def _one_share(name: str, amount: Fraction, at: str) -> RejectedRequest:
    message = f"a container asks for {format_amount(name, whole_units(name, amount))} and gets {names.MOST_SHARES}"
    return RejectedRequest(
        f"{message}: shares of a GPU are turns on it, not more of it",
        at,
        names.MOST_SHARES,
        name,
        names.MOST_SHARES,
        on_node=True,
    )


def _not_acceptable(
    name: str, limits: Mapping[Any, Any], requests: Mapping[Any, Any], where: str
) -> RejectedRequest | None:
    """Why the API server would not take this resource of a container, None when it would."""
    limit, requested = quantity(limits.get(name)), quantity(requests.get(name))
    at = f"{where}.limits.{name}"
    amount = max(1, whole_units(name, (requested if limit is None else limit) or Fraction(1)))
    if "/" not in name:
        message = f"`{name}` is no resource of Kubernetes: devices have a domain, as in {names.GPU}"
        return RejectedRequest(message, at, f"nvidia.com/{name}", f"nvidia.com/{name}", amount)
    if limit is None:
        return RejectedRequest(
            f"{name}: a request without a limit, which Kubernetes refuses", at, amount, name, amount
        )
    if name in requests and requested != limit:
        return RejectedRequest(
            f"{name}: request {requests[name]} and limit {limits[name]} differ,"
            " which Kubernetes refuses for devices",
            f"{where}.requests.{name}",
            amount,
            name,
            amount,
        )
    if limit.denominator != 1:
        return RejectedRequest(
            f"{name}: {limits[name]} is no whole number, which Kubernetes refuses for devices",
            at,
            amount,
            name,
            amount,
        )
    return None
