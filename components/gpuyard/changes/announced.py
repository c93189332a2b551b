"""What a deployment would take away, one loss for each reason: said before the engine acts.

A replacement takes along what rests on it. Each loss has a digest of its own, which `consent` names; it
is of what is lost and by which values, so that consent to one change is no consent to the next.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from gpuyard.changes.deployed import Deployed, Stand
from gpuyard.changes.graphs import TEMPLATE, Fate, ResourceChange, graph_changes, roots
from gpuyard.changes.holding import HOLDING, Holds, rolls
from gpuyard.changes.node_classes import reclassed
from gpuyard.changes.platforms import (
    Drained,
    LostGuarantee,
    Reported,
    former_pool,
    lowered,
    other_driver,
    other_machine,
    pools_gone,
    recut,
    redriven,
    report_of,
    reshared,
    teams_gone,
)
from gpuyard.changes.reporting import written_down
from gpuyard.changes.settling import Mark, has_mark
from gpuyard.changes.turns import Turns, turns
from gpuyard.findings import Path
from gpuyard.names import EXISTING_ANNOTATION, PROTECT_ANNOTATION, SYSTEM_POOL
from gpuyard.plan.records import PlatformPlan, PoolPlan
from gpuyard.render.cloud.graph import BLOCK, CloudGraph

_NAMESPACE = "kubernetes:core/v1:Namespace"
"""Or NamespacePatch, of one that existed before."""
_VPC, _EKS = "aws:ec2/vpc:Vpc", "aws:eks/cluster:Cluster"


class Does(StrEnum):
    """What becomes of it."""

    REPLACES = "replaces"
    DELETES = "deletes"
    RECUTS = "recuts"
    ROLLS = "rolls"
    """Stays by its name, with every node made anew, or put out of work, some at a time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Loss:
    """One change that somebody has to consent to."""

    does: Does
    what: str
    """`the cluster`, `pool train`."""
    path: Path
    """In the stack file, as near as there is a place."""
    why: str
    takes: tuple[str, ...] = ()
    """Names of resources in the graph."""
    holds: tuple[Holds, ...] = ()
    drains: tuple[Drained, ...] = ()
    guarantees: tuple[LostGuarantee, ...] = ()
    barred: str = ""
    """Why no consent makes it go; empty where one does."""
    protected: tuple[str, ...] = ()
    """Those of `takes` that the engine keeps until they are protected no more."""
    digest: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Announced:
    """Everything that a deployment would change of what is deployed."""

    platform: str
    """The component's name; empty: nothing of ours is deployed."""
    resources: tuple[ResourceChange, ...]
    losses: tuple[Loss, ...]
    lowered: tuple[tuple[LostGuarantee, int], ...]
    unforeseen: tuple[tuple[str, str], ...]
    """What only the engine's own preview says: replace or delete, and a name."""
    turns: Turns = ()
    """The order in which pools change."""
    driven: Mapping[str, str] = field(default_factory=dict[str, str])
    """Pools, by their first names, of which the GPU Operator exchanges the driver: the one that they have."""


def platform_in(stand: Stand, component: str = "") -> Deployed | None:
    """The platform that is meant: of that name, else the only one."""
    there = stand.platforms()
    named = [each for each in there if each.name == component]
    return named[0] if named else there[0] if len(there) == 1 and not component else None


def announced(
    plan: PlatformPlan, graph: CloudGraph | None, stand: Stand, component: str = ""
) -> Announced:
    """Compare what a plan gives with what is there; `component` is the platform's logical name, if known."""
    platform = platform_in(stand, component)
    name = component or (platform.name if platform else "")
    report = report_of(platform, written_down(stand, plan.name))
    wanted = graph or CloudGraph(())
    there = stand.of_clouds(name, wanted) if name else {}
    changes = graph_changes(wanted, there)
    driven = redriven(report, plan)
    teller = _Teller(plan, report, changes, _namespaces(stand))
    losses = (
        *teller.replaced(),
        *teller.gone(),
        *teller.cut(),
        *teller.rolled(),
        *teller.redriven(),
        *teller.teams(),
    )
    return Announced(
        platform=name,
        resources=changes,
        losses=losses,
        lowered=tuple(lowered(report, plan)),
        unforeseen=tuple(_unforeseen(stand, there, changes)),
        turns=turns(
            plan,
            [*teller.drained(), *driven, *reclassed(plan, stand, name)],
            reshared(report, plan),
        ),
        driven=driven,
    )


def _namespaces(stand: Stand) -> dict[str, bool]:
    """Namespaces in the state, and whether they stay when their team is removed."""
    found: dict[str, bool] = {}
    for each in stand.resources:
        metadata = each.outputs.get("metadata")
        if each.kind.startswith(_NAMESPACE) and isinstance(metadata, Mapping):
            annotations = metadata.get("annotations") or {}
            kept = (EXISTING_ANNOTATION, PROTECT_ANNOTATION)
            found[str(metadata.get("name"))] = any(annotations.get(key) == "true" for key in kept)
    return found


def _unforeseen(
    stand: Stand, there: Mapping[str, Deployed], changes: Iterable[ResourceChange]
) -> Iterator[tuple[str, str]]:
    """What the engine replaces or deletes at the cloud, and we did not say."""
    said = {each.name: each.verdict.value for each in changes}
    for name, each in sorted(there.items()):
        op = stand.engine.get(each.urn)
        if op is not None and said.get(name) != op:
            yield op, name


@dataclass(frozen=True, slots=True)
class _Teller:
    plan: PlatformPlan
    report: Reported
    changes: tuple[ResourceChange, ...]
    namespaces: Mapping[str, bool]
    """Those in the state, and whether each stays when its team is removed."""

    def replaced(self) -> Iterator[Loss]:
        """A loss for each replacement that has a reason of its own and takes something that is missed."""
        by_name = {each.name: each for each in self.changes}
        for name, taken in roots(self.changes).items():
            if any(each.kind in HOLDING for each in taken):
                root = by_name[name]
                fields = [_field(each.path, each.new) for each in root.replacing]
                loss = self._loss(
                    Does.REPLACES,
                    _what(root),
                    self._path(root),
                    taken,
                    why=f"a change of {', '.join(each.path for each in root.replacing)} makes it anew",
                    key=[root.name, *fields],
                )
                yield replace(loss, barred=self._barred(root, taken))

    def _barred(self, root: ResourceChange, taken: Sequence[ResourceChange]) -> str:
        """EKS takes other subnets of the cluster's own network alone, and its provider asks it to."""
        stays = any(each.kind == _EKS and each.verdict is not Fate.REPLACE for each in self.changes)
        if root.kind == _VPC and stays and not any(each.kind == _EKS for each in taken):
            return "EKS moves no cluster into another network: the deployment would stop there, without nodes"
        return ""

    def gone(self) -> Iterator[Loss]:
        """What leaves: a pool as a whole, and everything else one by one."""
        left = {part: list[ResourceChange]() for part in pools_gone(self.report, self.plan)}
        for each in self.changes:
            kept = each.there and each.there.retain and each.kind != BLOCK
            if each.verdict is Fate.DELETE and not kept:
                stay = [pool.stable_name for pool in self.plan.pools]
                pool = _pool_of(each.name, [*left, *stay])
                if pool in left:
                    left[pool].append(each)
                elif each.kind in HOLDING:
                    yield self._loss(
                        Does.DELETES,
                        _what(each),
                        self._pool_path(pool) if pool else self._path(each),
                        [each],
                        why="the stack file gives it no more",
                        key=[each.name],
                    )
        for pool, taken in left.items():
            yield self._loss(
                Does.DELETES,
                f"pool {pool}",
                ("pools",),
                taken,
                why="the stack file has it no more",
                key=[pool],
                pools=[pool],
            )

    def cut(self) -> Iterator[Loss]:
        """Pools whose GPUs are cut anew, or whose fake nodes become those of another machine."""
        for pool, name in recut(self.report, self.plan):
            yield self._loss(
                Does.RECUTS,
                f"pool {name}",
                self._pool_path(pool.stable_name),
                [],
                why="no job can run on a GPU while it is cut in another way: jobs are requeued, and pods"
                " without a controller are deleted for good",
                key=_recut_key(name, pool),
                pools=[name],
            )
        for pool, name, machine in other_machine(self.report, self.plan):
            yield self._loss(
                Does.REPLACES,
                f"pool {name}",
                self._pool_path(pool.stable_name),
                [],
                why=f"its nodes are {machine}, and are to be {pool.machine.name}",
                key=[name, pool.machine.name],
                pools=[name],
            )

    def rolled(self) -> Iterator[Loss]:
        """Pools whose groups stay and whose nodes do not: another image, disk, version or setting."""
        for pool in self.plan.pools:
            why = self._rolling(pool.stable_name)
            if not why:
                continue
            # A new version says nothing of itself: what changed is in the template.
            inside = {
                f.path: f.new
                for e in self._updated(pool.stable_name)
                if e.kind == TEMPLATE
                for f in e.fields
            }
            said = inside | {
                path: new for path, new in why.items() if not has_mark(new, Mark.LATER)
            }
            yield self._loss(
                Does.ROLLS,
                f"pool {pool.stable_name}",
                self._pool_path(pool.stable_name),
                [],
                why=f"a change of {', '.join(said or why)} makes its nodes anew, some at a time",
                key=[_field(path, new) for path, new in (said or why).items()],
                pools=[former_pool(self.report, self.plan, pool.stable_name)],
            )

    def drained(self) -> list[str]:
        """Pools whose nodes the deployment itself makes anew, or cuts anew."""
        names = [pool.stable_name for pool in self.plan.pools if self._rolling(pool.stable_name)]
        anew = {
            each.part
            for each in self.changes
            if each.verdict is Fate.REPLACE and HOLDING.get(each.kind) is Holds.NODES
        }
        return [*names, *anew, *(pool.stable_name for pool, _ in recut(self.report, self.plan))]

    def _updated(self, pool: str) -> list[ResourceChange]:
        return [e for e in self.changes if e.part == pool and e.verdict is Fate.UPDATE]

    def _rolling(self, pool: str) -> dict[str, Any]:
        """Fields that make its nodes anew, and what they are to be."""
        mine = self._updated(pool)
        return {f.path: f.new for each in mine for f in each.fields if rolls(each.kind, f.path)}

    def redriven(self) -> Iterator[Loss]:
        """Pools on whose nodes the GPU Operator puts another driver, which no job survives."""
        for pool, name, driver, comes in other_driver(self.report, self.plan):
            yield self._loss(
                Does.ROLLS,
                f"pool {name}",
                self._pool_path(pool.stable_name),
                [],
                why=f"the GPU Operator puts driver {comes} in place of {driver}, node by node",
                key=["driver", comes],
                pools=[name],
            )

    def teams(self) -> Iterator[Loss]:
        """Teams that leave with their queue and their namespaces."""
        for team in teams_gone(self.report, self.plan):
            mine = [each for each in _all(self.report) if each.team == team]
            spaces = self.report.teams[team].get("namespaces") or [team]
            loss = self._loss(
                Does.DELETES,
                f"team {team}",
                ("teams",),
                [],
                why="the stack file has it no more. Kueue deletes its queue only when no job uses it: `stop:"
                " drain` on the team, deployed first, ends the jobs that run; "
                + ", ".join(map(self._namespace, spaces)),
                key=[team],
            )
            yield replace(loss, guarantees=tuple(mine))

    def _namespace(self, name: str) -> str:
        if (stays := self.namespaces.get(name)) is None:
            return f"namespace {name} is deleted unless it is protected"
        return f"namespace {name} {'stays' if stays else 'is deleted'} with all that is in it"

    def _loss(
        self,
        does: Does,
        what: str,
        path: Path,
        taken: Sequence[ResourceChange],
        *,
        why: str,
        key: Sequence[Any],
        pools: Sequence[str] = (),
    ) -> Loss:
        drained = [*pools, *(one for one in self._drained(taken) if one not in pools)]
        return Loss(
            does=does,
            what=what,
            path=path,
            why=why,
            takes=tuple(each.name for each in taken),
            holds=tuple(dict.fromkeys(HOLDING[e.kind] for e in taken if e.kind in HOLDING)),
            drains=tuple(self.report.drained(pool) for pool in drained),
            guarantees=tuple(one for pool in drained for one in self.report.guarantees(pool)),
            protected=tuple(each.name for each in taken if each.protect),
            digest=_digest(does, what, key),
        )

    def _drained(self, taken: Iterable[ResourceChange]) -> list[str]:
        """Pools that lose nodes, by the name that the report has for them."""
        found: list[str] = []
        for each in taken:
            if HOLDING.get(each.kind) is Holds.CLUSTER:
                found += self.report.pools
            elif HOLDING.get(each.kind) is Holds.NODES and each.part not in {"", SYSTEM_POOL}:
                found.append(former_pool(self.report, self.plan, each.part))
            elif HOLDING.get(each.kind) is Holds.NODES and each.verdict is Fate.DELETE:
                parts = [pool.stable_name for pool in self.plan.pools]
                if (part := _pool_of(each.name, parts)) is not None:
                    found.append(former_pool(self.report, self.plan, part))
        return list(dict.fromkeys(found))

    def _path(self, each: ResourceChange) -> Path:
        """Where the stack file says what made the change: the pool, else the cluster, else the store."""
        if HOLDING.get(each.kind) is Holds.DATA and "log" not in each.kind.lower():
            return ("storage",)
        return self._pool_path(each.part) if each.part else ("cluster",)

    def _pool_path(self, stable_name: str) -> Path:
        if stable_name == SYSTEM_POOL:
            return ("system",)
        names = [pool.stable_name for pool in self.plan.spec.pools]
        return ("pools", names.index(stable_name)) if stable_name in names else ("pools",)


def _pool_of(name: str, pools: Iterable[str]) -> str | None:
    """The pool that a resource of this name was there for: the longest whose name it begins with."""
    mine = [pool for pool in pools if name == pool or name.startswith(f"{pool}-")]
    return max(mine, key=len, default=None)


def _all(report: Reported) -> Iterator[LostGuarantee]:
    for pool in report.pools:
        yield from report.guarantees(pool)


def _what(each: ResourceChange) -> str:
    holds = HOLDING.get(each.kind)
    if holds is Holds.CLUSTER:
        return "the cluster"
    kind = each.kind.rpartition(":")[2]
    return f"{kind} {each.name}"


def _field(path: str, value: Any) -> list[str]:
    """A field and what it is to be, as far as that is known."""
    return [path, json.dumps(value, sort_keys=True, default=_shown)]


def _shown(value: Any) -> str:
    return value.name if isinstance(value, Mark) else str(value)


def recut_digests(plan: PlatformPlan, pool: PoolPlan) -> list[str]:
    """What consent to a pool's layout may be called: it is of what comes, not of what was."""
    spec = next(each for each in plan.spec.pools if each.name == pool.name)
    names = (spec.name, *spec.formerly)
    return [_digest(Does.RECUTS, f"pool {name}", _recut_key(name, pool)) for name in names]


def _recut_key(name: str, pool: PoolPlan) -> list[Any]:
    return [name, {each.resource: each.per_node for each in pool.advertised}]


def _digest(does: Does, what: str, key: Sequence[Any]) -> str:
    text = json.dumps([does.value, what, *key], sort_keys=True)
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()[:12]}"
