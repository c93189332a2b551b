"""Nodes of a replay: pods that find none stay pending, autoscalers start and remove nodes, spot nodes end."""

import math
from bisect import bisect_left, insort
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import IntEnum

from gpuyard.plan.capacity.capacity_options import max_nodes_total, startup_time
from gpuyard.plan.records import PlatformPlan, PoolPlan
from gpuyard.spec.platform import HOURS_PER_MONTH
from gpuyard.spec.pools import Scaling
from gpuyard_advisor.replay.accounts import Accounts
from gpuyard_advisor.replay.jobs import EndReason
from gpuyard_advisor.replay.node_pools import NodePool, PodRequest, State
from gpuyard_advisor.replay.options import Chance, ReplayOptions
from gpuyard_advisor.replay.scaling import PoolObservation, stack_policy
from gpuyard_advisor.scheduler.model import RunningJob
from gpuyard_core.catalogue.cluster.times import GB_PULLED
from gpuyard_core.catalogue.kubernetes.interruptions import SPOT_RATE_PER_MONTH
from gpuyard_core.catalogue.machines import Capacity


class Kind(IntEnum):
    """Events, in the order of simultaneous ones."""

    ENDS = 0
    GIVES_WAY = 1
    NODE_READY = 2
    NODE_INTERRUPTED = 3
    ARRIVES = 4
    RETURNS = 5
    AGAIN = 6
    TIMES_OUT = 7
    SCALES = 8
    SAMPLES = 9


Push = Callable[[float, Kind, int, int], None]
"""Add an event: time, kind, number of a run or a node, job."""


@dataclass(slots=True, eq=False)
class AdmittedJob:
    """A job with quota."""

    job: int
    shape: int
    running: RunningJob
    since: float
    submitted: float
    number: int
    """Number of its run: events of an earlier run are ignored."""
    missing: int
    """Pods without a node."""
    gpus_per_pod: float = 0.0
    pool: NodePool | None = None
    request: PodRequest | None = None
    placed: dict[int, int] = field(default_factory=dict[int, int])
    """Pods by node."""
    running_since: float | None = None
    pods_end_at: float | None = None
    """When its pods end unless it is stopped before."""
    stops_at: float | None = None
    """When it was stopped; its pods terminate."""
    reason: EndReason = EndReason.COMPLETED
    gives_way_to: str = ""
    """The job that preempted it."""

    @property
    def order(self) -> tuple[int, int]:
        """kube-scheduler's order of pending pods."""
        return -self.running.priority, self.number


@dataclass(slots=True, eq=False)
class _Pending:
    """Jobs of a pool with pods that have no node, in the order in which they get one."""

    jobs: list[tuple[tuple[int, int], AdmittedJob]] = field(
        default_factory=list[tuple[tuple[int, int], AdmittedJob]]
    )
    nodes: int | None = None
    """Empty nodes that they need; None: not known since the last change."""

    def add(self, admitted: AdmittedJob) -> None:
        insort(self.jobs, (admitted.order, admitted), key=lambda each: each[0])
        self.nodes = None

    def remove(self, admitted: AdmittedJob) -> None:
        place = bisect_left(self.jobs, admitted.order, key=lambda each: each[0])
        if place < len(self.jobs) and self.jobs[place][1] is admitted:
            del self.jobs[place]
        self.nodes = None


class Cluster:
    """The nodes of all pools, and the pods that wait for them."""

    def __init__(
        self, plan: PlatformPlan, options: ReplayOptions, accounts: Accounts, push: Push
    ) -> None:
        rng = Chance(options.seed)
        self.pools = {pool.name: NodePool(plan, pool, rng) for pool in plan.pools}
        self._plan, self._options, self._accounts, self._push = plan, options, accounts, push
        self._rng = rng
        self._pending = {name: _Pending() for name in self.pools}
        self._freed: dict[str, None] = {}
        """Pools with nodes that became free or ready since the last retry."""
        self._node_pools: dict[int, str] = {}
        self._requested: dict[int, float] = {}
        """By node: when it was requested; not those from the start."""
        self._options_of: dict[int, int] = {}
        """By node: its capacity option."""
        self._sold: dict[str, list[int]] = {
            p.name: [0] * len(p.capacity_options) for p in plan.pools
        }
        """By pool: nodes of each capacity option."""
        self._jobs_of: dict[int, dict[int, AdmittedJob]] = {}
        """By spot node: the jobs on it."""
        self._used: dict[str, float] = dict.fromkeys(self.pools, 0.0)
        """By pool: GPUs with pods."""
        self._nodes = 0
        self.policy = options.scaling or stack_policy(plan)
        rate = options.interruptions_per_month or SPOT_RATE_PER_MONTH
        self._hazard = -math.log(1 - rate) / (HOURS_PER_MONTH * 3600)
        self._limits = {
            pool.name: (
                pool.start_nodes,
                max_nodes_total(plan.cloud, pool),
                self._boot_seconds(pool),
            )
            for pool in plan.pools
        }
        for pool in plan.pools:
            self._accounts.pools[pool.name].gpus_per_node = self.pools[pool.name].gpus
        self.scaling = [p.name for p in plan.pools if p.scaling is not Scaling.FIXED]
        """Pools whose number of nodes changes."""
        self._observed: dict[str, tuple[object, ...]] = {}
        """By pool: the load at the last decision."""
        self._constant_until: dict[str, float] = {}
        """By pool: until when that decision stays the same."""

    def _boot_seconds(self, pool: PoolPlan) -> float:
        """From the request until a pod runs, without its own start."""
        boot = self._options.boot_seconds
        if boot is None:
            known = startup_time(pool)
            boot = (known.min_minutes + known.max_minutes) * 30.0 if known else 0.0
        pull = (GB_PULLED.least + GB_PULLED.most) / 2
        return boot + self._options.image_gb * pull

    def start(self, now: float) -> None:
        """The nodes that run from the start; without a model of nodes all of them do."""
        for pool in self._plan.pools:
            if self._options.nodes:
                for _ in range(pool.start_nodes):
                    self._add_node(now, pool.name, self._new_node(pool.name))
            else:
                self._accounts.pools[pool.name].ready = pool.nodes.high

    # ── pods ──────────────────────────────────────────────────────────────────────────────────────
    def has_room(self, pool: str, requests: Mapping[str, int], pods: int) -> bool:
        """Whether Kueue's topology-aware scheduling finds nodes; a pool that scales may add them."""
        nodes = self.pools[pool]
        if nodes.plan.topology is None or pool in self.scaling:
            return True
        request = nodes.request(requests)
        return request is not None and nodes.fits_near(request, pods)

    def place(self, admitted: AdmittedJob) -> bool:
        """Put its pods on nodes; those that find none stay pending. True if all have one."""
        pool, request = admitted.pool, admitted.request
        if pool is None or request is None:
            return False
        self._put(admitted, pool, request)
        if admitted.missing:
            self._pending[pool.name].add(admitted)
        return not admitted.missing

    def _put(self, admitted: AdmittedJob, pool: NodePool, request: PodRequest) -> None:
        near = pool.plan.topology is not None
        placed = (pool.place_near if near else pool.place)(request, admitted.missing)
        for node, pods in placed.items():
            admitted.placed[node] = admitted.placed.get(node, 0) + pods
            admitted.missing -= pods
            self._used[pool.name] += admitted.gpus_per_pod * pods
            if node in self._jobs_of:
                self._jobs_of[node][admitted.number] = admitted

    def release(self, admitted: AdmittedJob) -> None:
        """Its pods are gone."""
        pool, request = admitted.pool, admitted.request
        if pool is None or request is None:
            return
        if admitted.missing:
            self._pending[pool.name].remove(admitted)
        for node, pods in admitted.placed.items():
            if node in pool.nodes:
                pool.change(node, request, -pods)
                self._jobs_of.get(node, {}).pop(admitted.number, None)
            self._used[pool.name] -= admitted.gpus_per_pod * pods
        admitted.placed = {}
        self._freed[pool.name] = None

    def retry(self) -> list[AdmittedJob]:
        """Place pending pods where nodes became free; the jobs of which all pods have a node now."""
        complete: list[AdmittedJob] = []
        for name in self._freed:
            pending, pool = self._pending[name], self.pools[name]
            failed: set[int] = set()
            for _, admitted in [*pending.jobs]:
                request = admitted.request
                if request is None or id(request) in failed:
                    continue
                before = admitted.missing
                self._put(admitted, pool, request)
                if admitted.missing < before:
                    pending.nodes = None
                if admitted.missing:
                    failed.add(id(request))
                else:
                    pending.remove(admitted)
                    complete.append(admitted)
        self._freed.clear()
        return complete

    def pending_jobs(self, pool: str) -> Iterator[AdmittedJob]:
        """The jobs of a pool with pods that have no node, in the order in which they get one."""
        return (admitted for _, admitted in self._pending[pool].jobs)

    # ── nodes ─────────────────────────────────────────────────────────────────────────────────────
    def _new_node(self, pool: str) -> int:
        """A new node, of the most preferred capacity option that has nodes left."""
        node = self._nodes
        self._nodes += 1
        self._node_pools[node] = pool
        sold = self._sold[pool]
        limits = [option.max_nodes for option in self.pools[pool].plan.capacity_options]
        option = next((i for i, most in enumerate(limits) if sold[i] < most), len(limits) - 1)
        if limits:
            sold[option] += 1
        self._options_of[node] = option
        return node

    def _request_node(self, now: float, pool: str) -> None:
        node = self._new_node(pool)
        self._requested[node] = now
        accounts = self._accounts.pools[pool]
        accounts.booting += 1
        accounts.started += 1
        self._push(now + self._limits[pool][2], Kind.NODE_READY, node, 0)

    def node_ready(self, now: float, node: int) -> None:
        """A requested node is ready."""
        pool = self._node_pools[node]
        self._accounts.nodes_change(now)
        self._accounts.pools[pool].booting -= 1
        self._add_node(now, pool, node)

    def _add_node(self, now: float, pool: str, node: int) -> None:
        nodes = self.pools[pool]
        nodes.add(node)
        self._accounts.pools[pool].ready += 1
        self._freed[pool] = None
        options = nodes.plan.capacity_options
        spot = bool(options) and options[self._options_of[node]].mode == Capacity.SPOT
        if spot and self._options.interruptions:
            self._jobs_of[node] = {}
            self._push(now + self._rng.exponential(self._hazard), Kind.NODE_INTERRUPTED, node, 0)

    def _remove_node(self, now: float, node: int) -> None:
        pool = self._node_pools.pop(node)
        self._accounts.nodes_change(now)
        self._accounts.pools[pool].ready -= 1
        self.pools[pool].remove(node)
        option = self._options_of.pop(node)
        if self._sold[pool]:
            self._sold[pool][option] -= 1
        self._jobs_of.pop(node, None)

    def interrupt(self, now: float, node: int) -> list[AdmittedJob]:
        """A spot node ends: the jobs that had pods on it."""
        if node not in self._jobs_of:
            return []
        pool = self._node_pools[node]
        jobs = [*self._jobs_of[node].values()]
        self._remove_node(now, node)
        accounts = self._accounts.pools[pool]
        accounts.interruptions += 1
        least = self._limits[pool][0]
        if accounts.ready + accounts.booting < least:
            self._request_node(now, pool)
        return jobs

    # ── autoscaling ───────────────────────────────────────────────────────────────────────────────
    def next_scaling(self, now: float) -> float | None:
        """When autoscalers next decide; None if nothing changes until a pod is pending."""
        every, at = self.policy.interval_seconds, math.inf
        for name in self.scaling:
            is_known = self._observed.get(name) == self._load(name)
            at = min(at, self._constant_until[name] if is_known else now)
        return None if at == math.inf else max(now // every + 1, math.ceil(at / every)) * every

    def _load(self, name: str) -> tuple[object, ...]:
        """What an observation depends on besides time."""
        accounts, is_same = self._accounts.pools[name], self._pending[name].nodes is not None
        empty = self.pools[name].empty_count
        return accounts.ready, accounts.booting, empty, self._used[name], is_same

    def scale(self, now: float) -> None:
        """Start and remove nodes as the policy decides; only empty nodes are removed."""
        self._accounts.nodes_change(now)
        for name in self.scaling:
            pool, accounts = self.pools[name], self._accounts.pools[name]
            least, most, _ = self._limits[name]
            total = accounts.ready + accounts.booting
            observation = self._observe(now, name, least, most)
            desired = self.policy.desired_nodes(observation)
            self._constant_until[name] = self.policy.constant_until(observation)
            self._observed[name] = self._load(name)
            for _ in range(total, min(desired, most)):
                self._request_node(now, name)
            for node in pool.empty_nodes()[: max(0, total - max(desired, least))]:
                self._accounts.pools[name].removed += 1
                requested = self._requested.pop(node, None)
                if requested is not None and now - requested <= self._options.flap_seconds:
                    accounts.flaps += 1
                self._remove_node(now, node)

    def _observe(self, now: float, name: str, least: int, most: int) -> PoolObservation:
        pool, accounts, pending = self.pools[name], self._accounts.pools[name], self._pending[name]
        if pending.nodes is None:
            pending.nodes = _nodes_for(pool, pending.jobs)
        gpus = accounts.ready * pool.gpus
        first = min((admitted.submitted for _, admitted in pending.jobs), default=now)
        return PoolObservation(
            pool=name,
            seconds=now,
            nodes=accounts.ready,
            booting=accounts.booting,
            min_nodes=least,
            max_nodes=most,
            needed_nodes=accounts.ready - pool.empty_count + pending.nodes,
            pending_jobs=len(pending.jobs),
            oldest_wait_seconds=now - first,
            utilisation=min(1.0, self._used[name] / gpus) if gpus else 0.0,
        )

    def booting(self) -> int:
        """Nodes that were requested and are not ready."""
        return sum(pool.booting for pool in self._accounts.pools.values())


def _nodes_for(pool: NodePool, jobs: list[tuple[tuple[int, int], AdmittedJob]]) -> int:
    """Empty nodes that these jobs' pending pods need, first fit."""
    groups: Counter[State] = Counter()
    for _, admitted in jobs:
        request, pods = admitted.request, admitted.missing
        if request is None:
            continue
        for state in (*groups, pool.whole):
            slots = request.slots(state)
            if not pods or slots <= 0:
                continue
            is_new = state == pool.whole
            full = pods // slots if is_new else min(groups[state], pods // slots)
            rest = pods - full * slots if is_new or full < groups[state] else 0
            pods -= full * slots + rest
            if not is_new:
                groups[state] -= full + bool(rest)
            groups[_less(state, request, slots)] += full
            groups[_less(state, request, rest)] += bool(rest)
        groups = +groups
    return groups.total()


def _less(state: State, request: PodRequest, pods: int) -> State:
    result = [*state]
    for place, amount in request.amounts:
        result[place] -= amount * pods
    return tuple(result)
