"""Facts of the plan as recording rules: constants that any Prometheus can join with measurements."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from gpuyard.plan.records import (
    AdvertisedResource,
    CapacityOption,
    CommitmentLine,
    PlatformPlan,
    PoolPlan,
)
from gpuyard.render.scaling.priority_expander import option_text
from gpuyard.spec.pools import Scaling
from gpuyard_core.names import POOL_LABEL, SYSTEM_POOL

_GIB = 1024**3
_INVALID = re.compile(r"[^a-zA-Z0-9_]")
_CAPITAL = re.compile(r"([a-z0-9])([A-Z])")
_EKS_CAPACITY = "eks.amazonaws.com/capacityType"
_KARPENTER_CAPACITY = "karpenter.sh/capacity-type"
_GKE_SPOT, _GKE_FLEX_START = "cloud.google.com/gke-spot", "cloud.google.com/gke-flex-start"
_ON_DEMAND = "on-demand"
NODE_INFO = "gpuyard:node:info"


@dataclass(frozen=True, slots=True)
class RuleText:
    """A recording rule as Prometheus reads it."""

    record: str
    expr: str
    labels: Mapping[str, str] = field(default_factory=dict)

    def document(self) -> dict[str, object]:
        """The rule in a rule file."""
        return {"record": self.record, "expr": self.expr} | (
            {"labels": dict(self.labels)} if self.labels else {}
        )


def state_metrics_label(label: str) -> str:
    """The label of kube-state-metrics for a label of an object: `label_karpenter_sh_capacity_type`."""
    words = _CAPITAL.sub(r"\1_\2", _INVALID.sub("_", label))
    return f"label_{words.lower()}"


def node_labels(plan: PlatformPlan) -> tuple[str, ...]:
    """The node labels that kube-state-metrics must export, besides the class of pods."""
    found = {POOL_LABEL}
    for pool in plan.pools:
        found |= _selector(pool).keys()
        for matchers, _ in _options(plan, pool):
            found |= {each.label for each in matchers}
    return tuple(sorted(found))


def facts(plan: PlatformPlan) -> list[RuleText]:
    """The facts that the accounting rules use, and the nodes of each pool and capacity option."""
    return [
        *_nodes(plan),
        *_pool_facts(plan),
        *_prices(plan),
        *_commitments(plan),
        *_teams(plan),
    ]


def _fact(record: str, value: float, **labels: str) -> RuleText:
    return RuleText(record, f"vector({value:.12g})", labels)


@dataclass(frozen=True, slots=True)
class _Matcher:
    """A matcher of nodes by a label."""

    label: str
    operator: str
    value: str

    def __str__(self) -> str:
        return f'{state_metrics_label(self.label)}{self.operator}"{self.value}"'


def _equal(labels: Mapping[str, str]) -> list[_Matcher]:
    return [_Matcher(label, "=", value) for label, value in labels.items()]


def _nodes(plan: PlatformPlan) -> Iterator[RuleText]:
    for pool in plan.pools:
        for matchers, mode in _options(plan, pool):
            yield _node_info([*_equal(_selector(pool)), *matchers], pool.name, mode)
    if plan.system is not None:
        system = _equal({POOL_LABEL: SYSTEM_POOL})
        yield _node_info(system, SYSTEM_POOL, plan.system.prices[0].mode)


def _node_info(matchers: Iterable[_Matcher], pool: str, capacity: str) -> RuleText:
    expr = f"group by (node) (kube_node_labels{{{', '.join(map(str, matchers))}}})"
    return RuleText(NODE_INFO, expr, {"pool": pool, "capacity": capacity})


def _selector(pool: PoolPlan) -> Mapping[str, str]:
    selector = pool.node_selector
    return {POOL_LABEL: selector[POOL_LABEL]} if POOL_LABEL in selector else selector


def _options(plan: PlatformPlan, pool: PoolPlan) -> list[tuple[list[_Matcher], str]]:
    """The capacity modes of a pool, with matchers that select each node for one of them.

    EKS and GKE label reserved and on-demand nodes alike: the node group tells them apart.
    """
    modes: dict[tuple[tuple[str, str], ...], list[str]] = {}
    for option in pool.capacity_options:
        labels = tuple(_capacity_labels(pool, option).items())
        modes.setdefault(labels, [])
        if option.mode not in modes[labels]:
            modes[labels].append(option.mode)
    if len(modes) == 1 and len(*modes.values()) == 1:
        return [([], pool.capacity_options[0].mode)]
    return [
        ([*_equal(dict(labels)), *matchers], mode)
        for labels, alike in modes.items()
        for matchers, mode in _by_group(plan, pool, alike)
    ]


def _by_group(
    plan: PlatformPlan, pool: PoolPlan, modes: list[str]
) -> Iterator[tuple[list[_Matcher], str]]:
    """Matchers of node groups for modes with equal labels; other nodes are on demand, or of the first mode."""
    label, groups = plan.provider.nodes_by_option(pool)
    names = {each["description"]: each["names"] for each in groups}
    rest = _ON_DEMAND if _ON_DEMAND in modes else modes[0]
    others: list[str] = []
    for mode in [each for each in modes if each != rest]:
        own = [
            name
            for option in pool.capacity_options
            if option.mode == mode
            for name in names.get(option_text(option), ())
        ]
        if own:
            others += own
            yield [_Matcher(label, "=~", "|".join(own))], mode
    yield [_Matcher(label, "!~", "|".join(others))] if others else [], rest


def _capacity_labels(pool: PoolPlan, option: CapacityOption) -> Mapping[str, str]:
    if option.aws:
        if pool.scaling is Scaling.KARPENTER:
            return {_KARPENTER_CAPACITY: option.aws.karpenter_capacity_type}
        return {_EKS_CAPACITY: option.aws.capacity_type}
    gke = option.gcp
    marks = {_GKE_SPOT: gke.spot, _GKE_FLEX_START: gke.flex_start} if gke else {}
    return {label: "true" if holds else "" for label, holds in marks.items()}


def _pool_facts(plan: PlatformPlan) -> Iterator[RuleText]:
    """A GPU of a machine is one GPU also where it is a fraction of a physical one (g6f.large)."""
    for pool, gpu in [(pool, pool.machine.gpu) for pool in plan.pools if pool.machine.gpu]:
        memory = float(gpu.memory_gib * pool.machine.gpu_fraction)
        yield _fact("gpuyard:pool_node:gpus", pool.machine.gpus, pool=pool.name)
        for each in pool.advertised:
            yield from _slice_facts(pool, each, memory)


def _slice_facts(pool: PoolPlan, each: AdvertisedResource, memory_gib: float) -> Iterator[RuleText]:
    profile, _, _ = each.unit.removesuffix("shared").removesuffix(".").partition("/")
    is_shared = each.unit.endswith("shared")
    replicas = pool.replicas if is_shared else 1
    labels = {
        "pool": pool.name,
        "GPU_I_PROFILE": profile,
        "slice": profile or ("shared" if is_shared else ""),
    }
    size = re.search(r"(\d+)gb", profile)
    memory = float(size[1]) if size else memory_gib
    gpus = each.gpu_share * replicas / pool.machine.gpu_fraction
    yield _fact("gpuyard:slice:gpus", float(gpus), **labels)
    yield _fact("gpuyard:slice:replicas", replicas, **labels)
    yield _fact("gpuyard:slice:memory_bytes", memory * _GIB, **labels)


def _prices(plan: PlatformPlan) -> Iterator[RuleText]:
    """The price of a node by pool and capacity option; an unknown price has no series."""
    for line in plan.bill.lines:
        seen: set[str] = set()
        for price in line.prices:
            if price.mean is not None and price.mode not in seen:
                seen.add(price.mode)
                yield _fact(
                    "gpuyard:node_price:dollars_per_hour",
                    price.mean,
                    pool=line.pool,
                    capacity=price.mode,
                )


def priced_commitments(plan: PlatformPlan) -> Mapping[str, list[CommitmentLine]]:
    """Commitments with a known price by name: those to one machine type in one region are one."""
    found: defaultdict[str, list[CommitmentLine]] = defaultdict(list)
    for line in [each for each in plan.bill.commitments if each.usd_per_node is not None]:
        found[" ".join(filter(None, (line.machine, line.region)))].append(line)
    return found


def _commitments(plan: PlatformPlan) -> Iterator[RuleText]:
    for name, lines in priced_commitments(plan).items():
        nodes = sum(line.nodes for line in lines)
        dollars = sum(line.nodes * (line.usd_per_node or 0.0) for line in lines)
        yield _fact("gpuyard:commitment:nodes", nodes, commitment=name)
        yield _fact("gpuyard:commitment_price:dollars_per_hour", dollars / nodes, commitment=name)
        for pool in _unique(covered.pool for line in lines for covered in line.covers):
            yield _fact(
                "gpuyard:commitment_pool:info", 1, commitment=name, pool=pool, capacity=_ON_DEMAND
            )


def _unique(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names))


def _teams(plan: PlatformPlan) -> Iterator[RuleText]:
    for team in plan.teams:
        for namespace in team.namespaces:
            yield _fact("gpuyard:namespace_team:info", 1, namespace=namespace.name, team=team.name)
        if team.budget_usd_per_month is not None:
            yield _fact(
                "gpuyard:team_budget:dollars_per_month",
                team.budget_usd_per_month,
                team=team.name,
            )
