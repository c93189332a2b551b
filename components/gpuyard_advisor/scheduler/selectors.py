"""Node selection of pods: labels, node affinity, taints.

The result is yes, no, or None if only a running node can tell.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from gpuyard.plan.records import PlatformPlan, PoolPlan
from gpuyard.plan.sharing.gke_sharing import gke_labels
from gpuyard.spec.platform import Cloud
from gpuyard_core import names
from gpuyard_core.catalogue.sharing import SharingMethod
from gpuyard_core.manifests.pods import Taint

_DISCOVERED = "nvidia.com/"


@dataclass(frozen=True, slots=True)
class NodeRequirement:
    """One expression of a node affinity."""

    key: str
    operator: str
    values: tuple[str, ...]


Term = tuple[NodeRequirement, ...]
"""Expressions that must all match."""


@dataclass(frozen=True, slots=True)
class Toleration:
    """A toleration of a pod."""

    key: str
    operator: str
    value: str
    effect: str

    def covers(self, taint: Taint) -> bool:
        """Whether it matches this taint; an empty key with Exists matches all."""
        if self.effect and self.effect != taint.effect:
            return False
        if self.key != taint.key and not (not self.key and self.operator == "Exists"):
            return False
        return self.operator == "Exists" or self.value == taint.value


def untolerated(taints: Iterable[Taint], tolerations: Iterable[Toleration]) -> Taint | None:
    """The first taint that the pod does not tolerate, or None."""
    return next((t for t in taints if not any(x.covers(t) for x in tolerations)), None)


@dataclass(frozen=True, slots=True)
class PoolLabels:
    """The known node labels of a pool; several values if nodes differ."""

    known: Mapping[str, tuple[str, ...]]
    closed: bool
    """Whether an unknown label without a domain is absent."""

    def meets(self, want: NodeRequirement) -> bool | None:
        """Whether some node of the pool matches an expression."""
        if want.key not in self.known:
            absent = False if self.closed and "/" not in want.key else None
            if want.operator in {"NotIn", "DoesNotExist"}:
                return None if absent is None else True
            return absent
        values = self.known[want.key]
        if want.operator in {"Exists", "DoesNotExist"}:
            return want.operator == "Exists"
        if want.operator in {"In", "NotIn"}:
            return any((v in want.values) == (want.operator == "In") for v in values)
        return any(_compares(v, want) for v in values)


def _compares(value: str, want: NodeRequirement) -> bool:
    """Gt and Lt compare integers; any other value does not match."""
    if not (want.values and _is_number(value) and _is_number(want.values[0])):
        return False
    here, bound = int(value), int(want.values[0])
    return (want.operator == "Gt" and here > bound) or (want.operator == "Lt" and here < bound)


def _is_number(text: str) -> bool:
    return text.isascii() and text.lstrip("-").isdecimal()


def labels_of(plan: PlatformPlan, pool: PoolPlan) -> PoolLabels:
    """Labels of every node of a pool, from the plan and the machine type."""
    ours = {**pool.labels, **pool.node_selector}
    known: dict[str, tuple[str, ...]] = {key: (value,) for key, value in ours.items()}
    known |= {
        names.ARCH_LABEL: (pool.machine.arch,),
        names.OS_LABEL: ("linux",),
        names.INSTANCE_TYPE_LABEL: pool.machines,
    }
    if pool.zones:
        known[names.ZONE_LABEL] = pool.zones
    known |= {key: (value,) for key, value in gke_labels(pool).items()}
    if pool.sharing is SharingMethod.NONE and pool.machine.gpu is not None:
        known[f"{names.GPU}.product"] = (pool.machine.gpu.product,)
    return PoolLabels(known, closed=plan.cloud is not Cloud.NONE)


def accepts(
    labels: PoolLabels, selector: Mapping[str, str], terms: tuple[Term, ...]
) -> tuple[bool | None, str]:
    """Whether the pod may run on such a node, and the key that decides or is unknown."""
    answer: bool | None = True
    about = ""
    for key, value in selector.items():
        match = labels.meets(NodeRequirement(key, "In", (value,)))
        if match is False:
            return False, f"{key}={value}"
        if match is None:
            answer, about = None, f"{key}={value}"
    if terms:
        match, key = _any_term(labels, terms)
        if match is False:
            return False, key
        if match is None:
            answer, about = None, key
    return answer, about


def _any_term(labels: PoolLabels, terms: tuple[Term, ...]) -> tuple[bool | None, str]:
    answers = [_all_of(labels, term) for term in terms]
    for verdict in (True, None):
        if results := [a for a in answers if a[0] is verdict]:
            return results[0]
    return answers[0]


def _all_of(labels: PoolLabels, term: Term) -> tuple[bool | None, str]:
    """A term without requirements matches no node."""
    if not term:
        return False, "an empty node selector term"
    answers = [(labels.meets(r), _shown(r)) for r in term]
    for verdict in (False, None):
        if results := [a for a in answers if a[0] is verdict]:
            return results[0]
    return True, ""


def _shown(want: NodeRequirement) -> str:
    return " ".join([want.key, want.operator, *want.values])


def flavor_accepts(
    flavor_labels: Mapping[str, str], selector: Mapping[str, str], terms: tuple[Term, ...]
) -> bool:
    """Kueue's own check of a flavor: only keys of the flavor count; an empty term matches."""
    if any(flavor_labels.get(k, v) != v for k, v in selector.items()):
        return False
    labels = PoolLabels({k: (v,) for k, v in flavor_labels.items()}, closed=True)
    own_terms = [tuple(r for r in term if r.key in flavor_labels) for term in terms]
    if not own_terms or not all(own_terms):
        return True
    return any(all(labels.meets(r) for r in term) for term in own_terms)


def find_discovered_label(selector: Mapping[str, str], terms: tuple[Term, ...]) -> str | None:
    """A label that only a running node has: unknown when scaling from zero."""
    keys = (*selector, *(r.key for term in terms for r in term))
    return next(
        (
            k
            for k in keys
            if k.startswith(_DISCOVERED)
            and k not in {names.MIG_CONFIG_LABEL, names.PLUGIN_CONFIG_LABEL}
        ),
        None,
    )
