"""Requests of a job, as the API server, Kueue and the scheduler each count them."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

from gpuyard.plan.records import LimitsPlan
from gpuyard.plan.teams.limits import LEAST_CPU_MILLI, LEAST_MEMORY_MIB
from gpuyard_advisor.scheduler.selectors import NodeRequirement, Term, Toleration
from gpuyard_advisor.scheduler.topology import TopologyRequest, topology_request
from gpuyard_advisor.workloads import ParsedPodTemplate, ParsedWorkload
from gpuyard_core import names
from gpuyard_core.findings import show_path
from gpuyard_core.manifests.fields import items, mapping, mappings
from gpuyard_core.manifests.gpu_requests import multiple_share_requests, peak_pod_requests
from gpuyard_core.manifests.quantities import (
    CPU,
    MEMORY,
    MIB,
    format_amount,
    quantity,
    whole_units,
)
from gpuyard_core.manifests.queued import BY_OWNER, GANGS, INTEGRATIONS
from gpuyard_core.manifests.templates import fixed_size_path

_NATIVE = ("cpu", "memory", "ephemeral-storage", "hugepages-")
_DISK = "ephemeral-storage"


@dataclass(frozen=True, slots=True, kw_only=True)
class PodSet:
    """Identical pods."""

    path: str
    count: int
    requests: Mapping[str, int]
    """Requests of one pod: CPU in millicores, memory in bytes, devices as counts."""
    selector: Mapping[str, str] = field(default_factory=dict[str, str])
    terms: tuple[Term, ...] = ()
    """Required node affinity: one term must match; without terms every node matches."""
    tolerations: tuple[Toleration, ...] = ()
    is_anti_affine: bool = False
    """At most one of them per node."""
    topology_request: TopologyRequest | None = None
    """Their topology request."""
    unset_requests: frozenset[str] = frozenset()
    """Resources that no container sets: `requests` has the defaults of the namespace."""
    largest: Mapping[str, int] = field(default_factory=dict[str, int])
    """Largest CPU and memory request or limit of any container."""


@dataclass(frozen=True, slots=True)
class InvalidRequest:
    """A request that the API server rejects, and the correct one."""

    message: str
    at: str
    value: str | int
    resource: str
    """The resource that the correct request needs more of; "" if it is not a device."""
    amount: int
    pod_set: int = 0
    on_node: bool = False
    """True if only the device plugin rejects it, when the pod starts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A job, reduced to what determines whether it starts."""

    kind: str
    name: str
    namespace: str
    queue_label: str
    priority_label: str
    """Value of the label for Kueue's priority."""
    priority_class: str
    """PriorityClass of the pods, which applies without the label."""
    pod_sets: tuple[PodSet, ...]
    rejection: tuple[InvalidRequest, ...]
    cautions: tuple[str, ...]
    integrated: bool = False
    """Whether the platform enables Kueue's integration of a kind that its chart leaves out."""
    groups: int = 0
    """Number of workloads with the same pods of every pod set; 0: each pod queues separately."""

    @property
    def is_gang(self) -> bool:
        """Whether all pods start together."""
        return self.integrated or self.kind in GANGS


def request_of(
    job: ParsedWorkload,
    limits: LimitsPlan | None = None,
    shared: Collection[str] = (),
    integrations: Collection[str] = (),
) -> Request:
    """Read a job's requests; in a team's namespace its default requests apply.

    `shared` are resource names of GPU shares without the suffix `.shared`, `integrations` the kinds
    that the platform queues besides those of Kueue's chart.
    """
    integrated = job.kind in {kind.rpartition("/")[2] for kind in integrations}
    pod_requests = [
        _pod_request(pod, default_container_requests(limits), shared) for pod in job.pods
    ]
    pod_sets = tuple(
        _pod_set(pod, each.amounts, default_container_requests(limits), max(1, job.groups))
        for pod, each in zip(job.pods, pod_requests, strict=True)
    )
    cautions = [
        caution
        for pod, each in zip(job.pods, pod_requests, strict=True)
        for caution in _unjudged(pod, each.amounts)
    ]
    by_owner = integrated or job.kind in BY_OWNER
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
            *(_autoscaled(job) if labels.get(names.QUEUE_LABEL) else ()),
            *(replace(r, pod_set=i) for i, each in enumerate(pod_requests) for r in each.refused),
        ),
        cautions=tuple(dict.fromkeys([*cautions, *_unjudged_kind(job, integrated=integrated)])),
        integrated=integrated,
        groups=job.groups if job.kind == "LeaderWorkerSet" else 0,
    )


def _miscounted(job: ParsedWorkload) -> Iterator[InvalidRequest]:
    """Quoted pod counts: the validation continues with the number."""
    for at, wrong, meant in job.count_errors:
        yield InvalidRequest(f"{at}: {wrong!r} is not a whole number", at, meant, "", 0)


def _autoscaled(job: ParsedWorkload) -> Iterator[InvalidRequest]:
    """A queued Ray cluster with an autoscaler: Kueue's webhook accepts it as an elastic job only."""
    if path := fixed_size_path(job.kind, job.body):
        message = (
            f"{show_path(path)}: Kueue queues a Ray cluster with an autoscaler only if it has the"
            f" annotation {names.ELASTIC_ANNOTATION}: true"
        )
        at = f"metadata.annotations[{names.ELASTIC_ANNOTATION}]"
        yield InvalidRequest(message, at, '"true"', "", 0)


def _unjudged_kind(job: ParsedWorkload, *, integrated: bool) -> Iterator[str]:
    """What gpuyard does not evaluate for jobs of this kind."""
    if job.kind == "TrainJob" and not any(p.restart_policy for p in job.pods):
        yield (
            f"its runtime {job.runtime or '(not named)'} is unknown to gpuyard: containers, "
            "selectors and CPU that it adds are not counted"
        )
    elif not integrated and job.kind not in GANGS and sum(p.count for p in job.pods) > 1:
        one = "group" if job.kind == "LeaderWorkerSet" else "pod"
        if one == "pod" or job.groups > 1:
            switch = INTEGRATIONS.get(job.kind)
            yield (
                f"Kueue queues each {one} of a {job.kind} separately: some may run without the "
                "others"
            ) + (
                f"; with `queueing.integrations: [{switch}]` it queues them as one"
                if switch
                else ""
            )
    if names.POD_GROUP_LABEL in job.own_labels:
        yield "it belongs to a pod group; the other pods of the group are not counted"


def group_pod_sets(pod_sets: Sequence[PodSet]) -> list[tuple[int, ...]]:
    """The pod sets that share flavor and domain, by their group; most are alone."""
    results: dict[str | int, list[int]] = {}
    for index, pods in enumerate(pod_sets):
        if pods.count:
            results.setdefault(
                (pods.topology_request and pods.topology_request.group) or index, []
            ).append(index)
    return [tuple(members) for members in results.values()]


def group_error(pod_sets: Sequence[PodSet]) -> str:
    """Why Kueue rejects the group, or "": a group has one leader and its workers."""
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
            return f"the pod sets of group {nears[0].group} request different topologies"
    return ""


def default_container_requests(limits: LimitsPlan | None) -> Counter[str]:
    """The default requests of a container without any."""
    if limits is None:
        return Counter()
    return Counter({CPU: LEAST_CPU_MILLI, MEMORY: LEAST_MEMORY_MIB * MIB})


def _pod_set(
    pod: ParsedPodTemplate, amounts: Mapping[str, int], default: Counter[str], groups: int
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


def _unjudged(pod: ParsedPodTemplate, amounts: Mapping[str, int]) -> Iterator[str]:
    """Pod fields that gpuyard does not evaluate."""
    if pod.claims:
        yield (
            "each of its resource claims (DRA) counts as one GPU; gpuyard does not read their "
            "content"
        )
    if mappings(pod.spec, "topologySpreadConstraints"):
        yield "its topology spread constraints are not evaluated"
    affinity = mapping(pod.spec, "affinity")
    for term in _required(affinity, "podAntiAffinity"):
        if not _keeps_apart(term, pod):
            yield "its pod anti-affinity is not evaluated"
    if _required(affinity, "podAffinity"):
        yield "its pod affinity is not evaluated"
    if amounts.get(_DISK):
        yield "its ephemeral storage is not evaluated: the plan has no size of a node's disk"


def _required(affinity: Mapping[Any, Any], kind: str) -> list[Mapping[Any, Any]]:
    return mappings(mapping(affinity, kind), "requiredDuringSchedulingIgnoredDuringExecution")


def _keeps_apart(term: Mapping[Any, Any], pod: ParsedPodTemplate) -> bool:
    """Whether an anti-affinity term keeps pods away from nodes with identical pods."""
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


def _largest(pod: ParsedPodTemplate) -> dict[str, int]:
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
    """Requests of containers, and those that the API server rejects."""

    amounts: Counter[str]
    refused: tuple[InvalidRequest, ...]


def _pod_request(pod: ParsedPodTemplate, default: Counter[str], shared: Collection[str]) -> _Asked:
    """The resources that the scheduler reserves for one pod, including overhead and claims."""
    init = [
        (c, _container_request(c, at, default, shared))
        for at, c in _containers(pod, "initContainers")
    ]
    main = [_container_request(c, at, default, shared) for at, c in _containers(pod, "containers")]
    total = peak_pod_requests(
        ((c, asks.amounts) for c, asks in init), (asks.amounts for asks in main)
    )
    for name, value in mapping(pod.spec, "overhead").items():
        if isinstance(name, str) and (amount := quantity(value)) and amount > 0:
            total[name] += whole_units(name, amount)
    if pod.claims:
        total[names.GPU_CLAIM] = pod.claims
    refused = (r for asks in (*(asks for _, asks in init), *main) for r in asks.refused)
    return _Asked(total, tuple(refused))


def _containers(pod: ParsedPodTemplate, key: str) -> list[tuple[str, Mapping[Any, Any]]]:
    return [
        (f"{pod.path}.{key}[{i}].resources", c)
        for i, c in enumerate(items(pod.spec, key))
        if isinstance(c, Mapping)
    ]


def _container_request(
    container: Mapping[Any, Any], where: str, default: Counter[str], shared: Collection[str]
) -> _Asked:
    """Requests of one container, including defaults."""
    resources = mapping(container, "resources")
    limits, requests = mapping(resources, "limits"), mapping(resources, "requests")
    amounts: Counter[str] = Counter()
    refused: list[InvalidRequest] = []
    shares = multiple_share_requests(limits, shared)
    for name in dict.fromkeys([*limits, *requests]):
        if not isinstance(name, str):
            continue
        value = requests.get(name, limits.get(name))
        amount = quantity(value)
        if amount is None or amount < 0:
            part = "requests" if name in requests else "limits"
            message = f"{name}: {value!r} is not a quantity"
            refused.append(InvalidRequest(message, f"{where}.{part}.{name}", 1, name, 1))
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


def _one_share(name: str, amount: Fraction, at: str) -> InvalidRequest:
    message = (
        f"a container requests {format_amount(name, whole_units(name, amount))} and gets "
        f"{names.MOST_SHARES}"
    )
    return InvalidRequest(
        f"{message}: several shares of a GPU give no more of it",
        at,
        names.MOST_SHARES,
        name,
        names.MOST_SHARES,
        on_node=True,
    )


def _not_acceptable(
    name: str, limits: Mapping[Any, Any], requests: Mapping[Any, Any], where: str
) -> InvalidRequest | None:
    """Why the API server rejects this resource of a container, or None."""
    limit, requested = quantity(limits.get(name)), quantity(requests.get(name))
    at = f"{where}.limits.{name}"
    amount = max(1, whole_units(name, (requested if limit is None else limit) or Fraction(1)))
    if "/" not in name:
        message = (
            f"`{name}` is not a resource of Kubernetes: device names have a domain, as in "
            f"{names.GPU}"
        )
        return InvalidRequest(message, at, f"nvidia.com/{name}", f"nvidia.com/{name}", amount)
    if limit is None:
        return InvalidRequest(
            f"{name}: a request without a limit, which Kubernetes rejects", at, amount, name, amount
        )
    if name in requests and requested != limit:
        return InvalidRequest(
            f"{name}: request {requests[name]} and limit {limits[name]} differ, which Kubernetes "
            "rejects for devices",
            f"{where}.requests.{name}",
            amount,
            name,
            amount,
        )
    if limit.denominator != 1:
        return InvalidRequest(
            f"{name}: {limits[name]} is not a whole number, which Kubernetes rejects for devices",
            at,
            amount,
            name,
            amount,
        )
    return None
