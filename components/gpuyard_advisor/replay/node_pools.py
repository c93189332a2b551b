"""Nodes of a pool, and where kube-scheduler or Kueue's topology-aware scheduling puts a pod.

Nodes with the same free resources are one state with a set of nodes, so that a pod compares states,
not nodes. Slices and shares are resources of the node, as the device plugin advertises them.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from gpuyard.plan.records import PlatformPlan, PoolPlan
from gpuyard.plan.teams.limits import LEAST_CPU_MILLI, LEAST_MEMORY_MIB
from gpuyard_advisor.replay.options import Chance
from gpuyard_advisor.scheduler.nodes import planned_node_resources, with_pods_resource
from gpuyard_core.catalogue.kubernetes.scheduling import (
    DEFAULT_WEIGHTS,
    FEWEST_SAMPLED_NODES,
    MAX_SCORE,
    PACKING_WEIGHTS,
)
from gpuyard_core.manifests.quantities import CPU, MEMORY, MIB

State = tuple[int, ...]
"""Free resources of a node, in the order of its pool's resources."""
_DEFAULTS = {CPU: LEAST_CPU_MILLI, MEMORY: LEAST_MEMORY_MIB * MIB}
"""Requests of a pod that has none, by the LimitRange of its namespace."""
_MOST_SCORES = 100_000


@dataclass(slots=True)
class PodRequest:
    """The requests of one pod on the nodes of a pool."""

    amounts: tuple[tuple[int, int], ...]
    """Resource, as its place in the state, and amount."""
    scored: tuple[tuple[int, int, int], ...]
    """Resource, amount and weight that the scores count."""
    scores: dict[State, int] = field(default_factory=dict[State, int])
    """Known scores by state."""

    def slots(self, state: State) -> int:
        """Number of such pods that a node fits."""
        return min(state[i] // n for i, n in self.amounts)


class NodePool:
    """The nodes of one pool that are ready, by free resources."""

    def __init__(self, plan: PlatformPlan, pool: PoolPlan, rng: Chance) -> None:
        whole = planned_node_resources(plan, pool)
        advertised = [a.resource for a in pool.advertised]
        self.plan, self.name = pool, pool.name
        self.names = (*advertised, *(name for name in whole if name not in advertised))
        self.whole: State = tuple(whole[name] for name in self.names)
        self.gpu_parts = tuple(float(a.gpu_share) for a in pool.advertised)
        self.nodes: dict[int, State] = {}
        self._rng = rng
        self._examines_all = sum(p.nodes.high for p in plan.pools) < FEWEST_SAMPLED_NODES
        packs = plan.provider.packs_nodes and not plan.spec.cluster_exists
        self._weights = PACKING_WEIGHTS if packs else DEFAULT_WEIGHTS
        self._sign = 1 if packs else -1
        # A pool of one resource keeps states apart by its free amount: full nodes are never compared.
        self._by_amount = len(advertised) == 1
        count = self.whole[0] + 1 if self._by_amount else 1
        self._states: list[dict[State, dict[int, None]]] = [{} for _ in range(count)]
        self._requests: dict[tuple[tuple[str, int], ...], PodRequest | None] = {}

    @property
    def gpus(self) -> float:
        """GPUs of one node, as far as they are advertised."""
        return sum(n * part for n, part in zip(self.whole, self.gpu_parts, strict=False))

    def free_gpus(self, state: State) -> float:
        """Free GPUs of a node."""
        return sum(n * part for n, part in zip(state, self.gpu_parts, strict=False))

    def gpus_of(self, requests: Mapping[str, int]) -> float:
        """GPUs that a pod requests."""
        parts = zip(self.names, self.gpu_parts, strict=False)
        return sum(requests.get(name, 0) * part for name, part in parts)

    def request(self, requests: Mapping[str, int]) -> PodRequest | None:
        """The requests of a pod; None if an empty node does not fit it."""
        key = tuple(sorted(requests.items()))
        if key not in self._requests:
            self._requests[key] = self._compile(with_pods_resource({**_DEFAULTS, **requests}))
        return self._requests[key]

    def _compile(self, requests: Mapping[str, int]) -> PodRequest | None:
        places = {name: place for place, name in enumerate(self.names)}
        amounts = [(places.get(name, -1), n) for name, n in requests.items() if n > 0]
        if any(place < 0 or n > self.whole[place] for place, n in amounts):
            return None
        scored = [
            (places[name], n, weight)
            for name, weight in self._weights.items()
            if name in places and (n := requests.get(name, 0))
        ]
        return PodRequest(tuple(sorted(amounts)), tuple(scored))

    def states(self) -> Iterator[tuple[State, int]]:
        """Every state with the number of its nodes."""
        for states in self._states:
            for state, nodes in states.items():
                yield state, len(nodes)

    def add(self, node: int) -> None:
        """Add an empty node."""
        self._move(node, self.whole)

    def remove(self, node: int) -> None:
        """Remove a node."""
        self._forget(node, self.nodes.pop(node))

    @property
    def empty_count(self) -> int:
        """Number of nodes without pods."""
        return len(self._states[self._bucket(self.whole)].get(self.whole, ()))

    def empty_nodes(self) -> list[int]:
        """Nodes without pods."""
        return [*self._states[self._bucket(self.whole)].get(self.whole, ())]

    def change(self, node: int, request: PodRequest, pods: int) -> None:
        """Put pods on a node, or with a negative number take them away."""
        state = [*self.nodes[node]]
        for place, amount in request.amounts:
            state[place] -= amount * pods
        self._forget(node, self.nodes[node])
        self._move(node, tuple(state))

    def _bucket(self, state: State) -> int:
        return state[0] if self._by_amount else 0

    def _forget(self, node: int, state: State) -> None:
        states = self._states[self._bucket(state)]
        nodes = states[state]
        del nodes[node]
        if not nodes:
            del states[state]

    def _move(self, node: int, state: State) -> None:
        self.nodes[node] = state
        self._states[self._bucket(state)].setdefault(state, {})[node] = None

    def _fitting(self, request: PodRequest) -> Iterator[tuple[State, dict[int, None]]]:
        amounts = request.amounts
        least = next((n for place, n in amounts if place == 0), 0) if self._by_amount else 0
        for states in self._states[least:]:
            for state, nodes in states.items():
                for place, amount in amounts:
                    if state[place] < amount:
                        break
                else:
                    yield state, nodes

    def place(self, request: PodRequest, count: int) -> dict[int, int]:
        """Put pods on nodes one by one as kube-scheduler does; the number of pods by node."""
        placed: dict[int, int] = {}
        for _ in range(count):
            node = self._best_node(request)
            if node is None:
                break
            self.change(node, request, 1)
            placed[node] = placed.get(node, 0) + 1
        return placed

    def _best_node(self, request: PodRequest) -> int | None:
        """A node of the highest score; of several, the one that kube-scheduler lists first.

        In clusters of fewer than 100 nodes that is the oldest. In larger ones it examines a part of the nodes, each time
        from where it stopped: any of them.
        """
        scores, highest, ties = request.scores, -1, 0
        chosen: dict[int, None] | None = None
        oldest: int | None = None
        for state, nodes in self._fitting(request):
            score = scores.get(state)
            if score is None:
                score = self._score(request, state)
            if self._examines_all:
                if score >= highest:
                    first = min(nodes)
                    if score > highest or oldest is None or first < oldest:
                        oldest = first
                    highest = score
            elif score > highest:
                highest, chosen, ties = score, nodes, len(nodes)
            elif score == highest:
                ties += len(nodes)
                if self._rng.uniform() * ties < len(nodes):
                    chosen = nodes
        return oldest if chosen is None else next(iter(chosen))

    def _score(self, request: PodRequest, state: State) -> int:
        """NodeResourcesFit and NodeResourcesBalancedAllocation, of equal weight."""
        total = weights = 0
        before: list[float] = []
        after: list[float] = []
        for place, amount, weight in request.scored:
            whole = self.whole[place]
            used = min(whole, whole - state[place] + amount)
            part = used if self._sign > 0 else whole - used
            total += weight * (part * MAX_SCORE // whole)
            weights += weight
            if self.names[place] in DEFAULT_WEIGHTS:
                before.append((whole - state[place]) / whole)
                after.append(used / whole)
        fit = total // weights if weights else 0
        balance = MAX_SCORE // 2 + (MAX_SCORE // 2 + _balance(after) - _balance(before)) // 2
        if len(request.scores) >= _MOST_SCORES:
            request.scores.clear()
        request.scores[state] = fit + balance
        return fit + balance

    def place_near(self, request: PodRequest, count: int) -> dict[int, int]:
        """Nodes for all pods as Kueue selects them without a requested level; empty if they do not fit.

        The smallest remainder that fits all pods, else the smallest remainders first.
        """
        slots = sorted(
            ((request.slots(state), state) for state, _ in self._fitting(request)),
            key=lambda each: (each[0], each[1]),
        )
        enough = next(((n, state) for n, state in slots if n >= count), None)
        placed: dict[int, int] = {}
        for n, state in (enough,) if enough else slots:
            for node in self._states[self._bucket(state)][state]:
                if not count:
                    break
                placed[node] = min(n, count)
                count -= placed[node]
        if count:
            return {}
        for node, pods in placed.items():
            self.change(node, request, pods)
        return placed

    def fits_near(self, request: PodRequest, count: int) -> bool:
        """Whether nodes with free resources fit all pods."""
        for state, nodes in self._fitting(request):
            count -= request.slots(state) * len(nodes)
            if count <= 0:
                return True
        return False


def _balance(fractions: list[float]) -> int:
    """100 for CPU and memory used to the same degree."""
    if len(fractions) < 2:  # noqa: PLR2004  one resource is balanced
        return MAX_SCORE
    return int((1 - abs(fractions[0] - fractions[1]) / 2) * MAX_SCORE)
