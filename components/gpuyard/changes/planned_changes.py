"""Disruptions of a deployment, one for each reason, computed before Pulumi runs.

A replacement also replaces its dependents. Each disruption has a digest for `approved_changes`, computed
from what is lost and the new values, so that approval of one change does not approve the next.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from gpuyard.changes.deployed_state import DeployedResource, DeployedState
from gpuyard.changes.destroy_blockers import RolloutWaves, plan_rollout_waves
from gpuyard.changes.fields import UnknownMarker, has_unknown
from gpuyard.changes.graphs import (
    TEMPLATE,
    ResourceAction,
    ResourceChange,
    graph_changes,
    group_by_root_replacement,
)
from gpuyard.changes.platforms import (
    DrainedPool,
    RemovedGuarantee,
    ReportedPlatform,
    former_pool,
    lowered_quotas,
    pools_with_changed_drivers,
    pools_with_changed_machines,
    pools_with_changed_sharing,
    pools_with_driver_rollout,
    removed_pools,
    removed_teams,
    repartitioned_pools,
    reported_platform,
    reported_state,
)
from gpuyard.changes.retained_content import CONTENT_BY_KIND, ResourceContent, forces_node_rollout
from gpuyard.plan.records import PlatformPlan, PoolPlan
from gpuyard.plan.records.late import unresolved_output_names
from gpuyard.plan.workloads.addons import installed_addons
from gpuyard.render.cloud.graph import BLOCK, CloudGraph
from gpuyard.render.objects import Object
from gpuyard_core.catalogue.software.addons import addon_facts
from gpuyard_core.findings import Path
from gpuyard_core.names import EXISTING_ANNOTATION, PROTECT_ANNOTATION, SYSTEM_POOL

_NAMESPACE = "kubernetes:core/v1:Namespace"
"""Or NamespacePatch, for a namespace that existed before."""
_RELEASE = "kubernetes:helm.sh/v3:Release"
_VPC, _EKS = "aws:ec2/vpc:Vpc", "aws:eks/cluster:Cluster"
_OTHER_NETWORK = (
    "EKS cannot move a cluster to another network: the deployment would fail there, without nodes"
)


class Effect(StrEnum):
    """The effect on it."""

    REPLACES = "replaces"
    DELETES = "deletes"
    REPARTITIONS = "recuts"
    ROLLS = "rolls"
    """Keeps its name, while its nodes are replaced or drained in batches."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Disruption:
    """One change that needs approval."""

    effect: Effect
    subject: str
    """`the cluster`, `pool train`."""
    path: Path
    """The nearest path in the stack file."""
    reason: str
    also_removed: tuple[str, ...] = ()
    """Names of resources in the graph."""
    lost_content: tuple[ResourceContent, ...] = ()
    drained_pools: tuple[DrainedPool, ...] = ()
    guarantees: tuple[RemovedGuarantee, ...] = ()
    blocked: str = ""
    """Why it cannot be approved; empty when it can."""
    protected: tuple[str, ...] = ()
    """Removed resources that are protected."""
    digest: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedChanges:
    """All changes of a deployment to the deployed state."""

    platform: str
    """Name of the component; empty when no platform is deployed."""
    resources: tuple[ResourceChange, ...]
    disruptions: tuple[Disruption, ...]
    reduced_quotas: tuple[tuple[RemovedGuarantee, int], ...]
    unplanned_removals: tuple[tuple[str, str], ...]
    """Operations that only Pulumi's preview has: replace or delete, and a name."""
    rollout_waves: RolloutWaves = ()
    """The order of the pools in a rollout."""
    driver_rollouts: Mapping[str, str] = field(default_factory=dict[str, str])
    """Current drivers of pools, by stable name, whose driver the GPU Operator replaces."""


def platform_in(state: DeployedState, component: str = "") -> DeployedResource | None:
    """The platform of this name, or the only one."""
    platforms = state.platforms()
    named = [each for each in platforms if each.name == component]
    return named[0] if named else platforms[0] if len(platforms) == 1 and not component else None


def plan_changes(
    plan: PlatformPlan, graph: CloudGraph | None, state: DeployedState, component: str = ""
) -> PlannedChanges:
    """Compare a plan with the deployed state; `component` is the platform's logical name, if known."""
    platform = platform_in(state, component)
    name = component or (platform.name if platform else "")
    report = reported_platform(platform, reported_state(state, plan.name))
    planned_graph = graph or CloudGraph(())
    existing = state.cloud_resources(name, planned_graph) if name else {}
    changes = graph_changes(planned_graph, existing)
    actions = {each.name: each.action.value for each in changes}
    driven = pools_with_driver_rollout(report, plan)
    charts = {str(each.outputs.get("name")) for each in state.resources if each.kind == _RELEASE}
    teller = _Teller(plan, report, changes, _namespaces(state), charts)
    return PlannedChanges(
        platform=name,
        resources=changes,
        disruptions=tuple(teller.disruptions()),
        reduced_quotas=tuple(lowered_quotas(report, plan)),
        unplanned_removals=tuple(
            (op, resource)
            for resource, each in sorted(existing.items())
            if (op := state.engine.get(each.urn)) is not None and actions.get(resource) != op
        ),
        rollout_waves=plan_rollout_waves(
            plan,
            [*teller.drained(), *driven, *changed_node_classes(plan, state, name)],
            pools_with_changed_sharing(report, plan),
        ),
        driver_rollouts=driven,
    )


def _namespaces(state: DeployedState) -> dict[str, bool]:
    """Namespaces in the state, and whether they stay when their team is removed."""
    results: dict[str, bool] = {}
    for each in state.resources:
        metadata = each.outputs.get("metadata")
        if each.kind.startswith(_NAMESPACE) and isinstance(metadata, Mapping):
            annotations = metadata.get("annotations") or {}
            preserving = (EXISTING_ANNOTATION, PROTECT_ANNOTATION)
            results[str(metadata.get("name"))] = any(
                annotations.get(key) == "true" for key in preserving
            )
    return results


@dataclass(frozen=True, slots=True)
class _Teller:
    plan: PlatformPlan
    report: ReportedPlatform
    changes: tuple[ResourceChange, ...]
    namespaces: Mapping[str, bool]
    """Namespaces in the state, and whether each stays when its team is removed."""
    charts: set[str]
    """Helm releases in the state."""

    def disruptions(self) -> Iterator[Disruption]:
        """One for each reason."""
        yield from self._replaced()
        yield from self._gone()
        yield from self._changed_pools()
        yield from self._rolled()
        yield from self._redriven()
        yield from self._teams()
        yield from self._addons()

    def _replaced(self) -> Iterator[Disruption]:
        """A disruption for each replacement with its own reason that loses something."""
        by_name = {each.name: each for each in self.changes}
        for name, affected in group_by_root_replacement(self.changes).items():
            if any(each.kind in CONTENT_BY_KIND for each in affected):
                root = by_name[name]
                loss = self._loss(
                    Effect.REPLACES,
                    _what(root),
                    self._path(root),
                    affected,
                    why=f"a change of {', '.join(each.path for each in root.replacing_fields)} replaces it",
                    key=[
                        root.name,
                        *(_field(each.path, each.new) for each in root.replacing_fields),
                    ],
                )
                # EKS accepts new subnets only in the cluster's own network.
                stays = any(
                    each.kind == _EKS and each.action is not ResourceAction.REPLACE
                    for each in self.changes
                )
                if root.kind == _VPC and stays and not any(each.kind == _EKS for each in affected):
                    loss = replace(loss, blocked=_OTHER_NETWORK)
                yield loss

    def _gone(self) -> Iterator[Disruption]:
        """Removals: a pool as a whole, everything else one by one."""
        by_pool = {part: list[ResourceChange]() for part in removed_pools(self.report, self.plan)}
        for each in self.changes:
            is_retained = each.existing and each.existing.retain and each.kind != BLOCK
            if each.action is ResourceAction.DELETE and not is_retained:
                pool = _pool_of(each.name, [*by_pool, *self._stable_names()])
                if pool in by_pool:
                    by_pool[pool].append(each)
                elif each.kind in CONTENT_BY_KIND:
                    yield self._loss(
                        Effect.DELETES,
                        _what(each),
                        self._pool_path(pool) if pool else self._path(each),
                        [each],
                        why="the stack file no longer defines it",
                        key=[each.name],
                    )
        for pool, removed in by_pool.items():
            why = "the stack file no longer has it"
            yield self._pool_loss(Effect.DELETES, pool, pool, why, [pool], removed)

    def _changed_pools(self) -> Iterator[Disruption]:
        """Pools whose GPUs are repartitioned, or whose simulated nodes get another machine type."""
        for pool, name in repartitioned_pools(self.report, self.plan):
            why = (
                "no job can run on a GPU while it is repartitioned: jobs are requeued, and pods"
                " without a controller are deleted permanently"
            )
            key = _recut_key(name, pool)
            yield self._pool_loss(Effect.REPARTITIONS, name, pool.stable_name, why, key)
        for pool, name, machine in pools_with_changed_machines(self.report, self.plan):
            why = f"the machine type of its nodes changes from {machine} to {pool.machine.name}"
            key = [name, pool.machine.name]
            yield self._pool_loss(Effect.REPLACES, name, pool.stable_name, why, key)

    def _rolled(self) -> Iterator[Disruption]:
        """Pools whose node groups stay while their nodes are replaced: another image, disk, version or setting."""
        for name in self._stable_names():
            fields = self._rolling(name)
            if not fields:
                continue
            # A new version number has no information: the change is in the template.
            inside = {
                f.path: f.new for e in self._updated(name) if e.kind == TEMPLATE for f in e.fields
            }
            known = {k: v for k, v in fields.items() if not has_unknown(v, UnknownMarker.COMPUTED)}
            fields = inside | known or fields
            yield self._loss(
                Effect.ROLLS,
                f"pool {name}",
                self._pool_path(name),
                [],
                why=f"a change of {', '.join(fields)} replaces its nodes in batches",
                key=[_field(path, new) for path, new in fields.items()],
                pools=[former_pool(self.report, self.plan, name)],
            )

    def drained(self) -> list[str]:
        """Pools whose nodes the deployment itself replaces or repartitions."""
        replaced = {
            each.part
            for each in self.changes
            if each.action is ResourceAction.REPLACE
            and CONTENT_BY_KIND.get(each.kind) is ResourceContent.NODES
        }
        return [
            *filter(self._rolling, self._stable_names()),
            *replaced,
            *(pool.stable_name for pool, _ in repartitioned_pools(self.report, self.plan)),
        ]

    def _stable_names(self) -> list[str]:
        return [pool.stable_name for pool in self.plan.pools]

    def _updated(self, pool: str) -> list[ResourceChange]:
        return [e for e in self.changes if e.part == pool and e.action is ResourceAction.UPDATE]

    def _rolling(self, pool: str) -> dict[str, Any]:
        """Fields that replace its nodes, and their new values."""
        return {
            f.path: f.new
            for each in self._updated(pool)
            for f in each.fields
            if forces_node_rollout(each.kind, f.path)
        }

    def _redriven(self) -> Iterator[Disruption]:
        """Pools on whose nodes the GPU Operator replaces the driver, which stops all jobs."""
        for pool, name, driver, comes in pools_with_changed_drivers(self.report, self.plan):
            why = f"the GPU Operator replaces driver {driver} with {comes}, node by node"
            yield self._pool_loss(Effect.ROLLS, name, pool.stable_name, why, ["driver", comes])

    def _teams(self) -> Iterator[Disruption]:
        """Removed teams, with their queue and namespaces."""
        for team in removed_teams(self.report, self.plan):
            pools = self.report.pools
            mine = [g for pool in pools for g in self.report.guarantees(pool) if g.team == team]
            spaces = self.report.teams[team].get("namespaces") or [team]
            loss = self._loss(
                Effect.DELETES,
                f"team {team}",
                ("teams",),
                [],
                why="the stack file no longer has it. Kueue deletes its queue only when no job uses it: deploy `stop_policy:"
                " drain` on the team first to evict its running jobs; "
                + ", ".join(map(self._namespace, spaces)),
                key=[team],
            )
            yield replace(loss, guarantees=tuple(mine))

    def _addons(self) -> Iterator[Disruption]:
        """Removed add-ons whose objects Kubernetes deletes together with the CRDs of the chart."""
        stay = installed_addons(self.plan.spec)
        for facts in addon_facts().values():
            owners = [each for each in facts.charts if each.owns_crds]
            if facts.name not in stay and any(each.chart.name in self.charts for each in owners):
                loss = self._loss(
                    Effect.DELETES,
                    f"add-on {facts.name}",
                    ("addons",),
                    [],
                    why="the stack file no longer has it, and Helm deletes its CRDs",
                    key=[facts.name],
                )
                yield replace(loss, lost_content=(ResourceContent.OBJECTS,))

    def _namespace(self, name: str) -> str:
        if (stays := self.namespaces.get(name)) is None:
            return f"namespace {name} is deleted unless it is protected"
        return f"namespace {name} {'stays' if stays else 'is deleted'} with everything in it"

    def _pool_loss(
        self,
        does: Effect,
        name: str,
        stable_name: str,
        why: str,
        key: Sequence[Any],
        affected: Sequence[ResourceChange] = (),
    ) -> Disruption:
        what, path = f"pool {name}", self._pool_path(stable_name)
        return self._loss(does, what, path, affected, why=why, key=key, pools=[name])

    def _loss(
        self,
        does: Effect,
        what: str,
        path: Path,
        affected: Sequence[ResourceChange],
        *,
        why: str,
        key: Sequence[Any],
        pools: Sequence[str] = (),
    ) -> Disruption:
        drained = [*pools, *(one for one in self._drained(affected) if one not in pools)]
        return Disruption(
            effect=does,
            subject=what,
            path=path,
            reason=why,
            also_removed=tuple(each.name for each in affected),
            lost_content=tuple(
                dict.fromkeys(
                    CONTENT_BY_KIND[e.kind] for e in affected if e.kind in CONTENT_BY_KIND
                )
            ),
            drained_pools=tuple(self.report.drained(pool) for pool in drained),
            guarantees=tuple(one for pool in drained for one in self.report.guarantees(pool)),
            protected=tuple(each.name for each in affected if each.protect),
            digest=_digest(does, what, key),
        )

    def _drained(self, affected: Iterable[ResourceChange]) -> list[str]:
        """Pools that lose nodes, by their names in the report."""
        results: list[str] = []
        for each in affected:
            content = CONTENT_BY_KIND.get(each.kind)
            if content is ResourceContent.CLUSTER:
                results += self.report.pools
            elif content is ResourceContent.NODES:
                part: str | None = each.part
                if part in {"", SYSTEM_POOL}:
                    is_removed = each.action is ResourceAction.DELETE
                    part = _pool_of(each.name, self._stable_names()) if is_removed else None
                if part:
                    results.append(former_pool(self.report, self.plan, part))
        return list(dict.fromkeys(results))

    def _path(self, each: ResourceChange) -> Path:
        """The stack file path of the cause: the pool, else the cluster, else the store."""
        is_data = CONTENT_BY_KIND.get(each.kind) is ResourceContent.DATA
        if is_data and "log" not in each.kind.lower():
            return ("storage",)
        return self._pool_path(each.part) if each.part else ("cluster",)

    def _pool_path(self, stable_name: str) -> Path:
        if stable_name == SYSTEM_POOL:
            return ("system",)
        names = [pool.stable_name for pool in self.plan.spec.pools]
        return ("pools", names.index(stable_name)) if stable_name in names else ("pools",)


def _pool_of(name: str, pools: Iterable[str]) -> str | None:
    """The pool of a resource: the longest pool name that is a prefix of its name."""
    mine = [pool for pool in pools if name == pool or name.startswith(f"{pool}-")]
    return max(mine, key=len, default=None)


def _what(each: ResourceChange) -> str:
    if CONTENT_BY_KIND.get(each.kind) is ResourceContent.CLUSTER:
        return "the cluster"
    return f"{each.kind.rpartition(':')[2]} {each.name}"


def _field(path: str, value: Any) -> list[str]:
    """A field and its new value, if known."""
    return [
        path,
        json.dumps(
            value,
            sort_keys=True,
            default=lambda each: each.name if isinstance(each, UnknownMarker) else str(each),
        ),
    ]


def repartition_digests(plan: PlatformPlan, pool: PoolPlan) -> list[str]:
    """Digests that approve a pool's layout: computed from the new layout only."""
    spec = next(each for each in plan.spec.pools if each.name == pool.name)
    names = (spec.name, *spec.previous_names)
    return [_digest(Effect.REPARTITIONS, f"pool {name}", _recut_key(name, pool)) for name in names]


def _recut_key(name: str, pool: PoolPlan) -> list[Any]:
    return [name, {each.resource: each.per_node for each in pool.advertised}]


def _digest(does: Effect, what: str, key: Sequence[Any]) -> str:
    text = json.dumps([does.value, what, *key], sort_keys=True)
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()[:12]}"


# A running node stays: Karpenter marks it as drifted, and the disruption budgets replace it only in the
# disruption window. New nodes have the new class.


def changed_node_classes(plan: PlatformPlan, state: DeployedState, component: str) -> list[str]:
    """Stable names of these pools; a pool without deployed objects is new and not among them.

    The state also has what the API server adds, so a field that the plan no longer sets is not detected.
    """
    begins = f"{component}-karpenter:"
    existing = {
        each.name.removeprefix(begins): each.outputs.get("spec")
        for each in state.resources
        if each.name.startswith(begins)
    }
    return [
        pool
        for pool, objects in plan.provider.karpenter_nodes(plan).items()
        if any(
            not _holds(existing[name], expected)
            for name, expected in _node_specs(objects)
            if name in existing
        )
    ]


def _node_specs(objects: Sequence[Object]) -> Iterator[tuple[str, Any]]:
    """What defines a node: the class and the template of a NodePool, without limits and disruption."""
    for obj in objects:
        name = f"{obj['kind']}:{obj['metadata']['name']}"
        if obj["kind"] == "EC2NodeClass":
            yield name, obj["spec"]
        elif obj["kind"] == "NodePool":
            yield name, {"template": obj["spec"]["template"]}


def _holds(existing: Any, expected: Any) -> bool:
    """Whether the expected values exist; late values are assumed to be unchanged."""
    if isinstance(expected, Mapping):
        known = existing if isinstance(existing, Mapping) else {}
        return all(_holds(known.get(key), value) for key, value in expected.items())
    if isinstance(expected, list | tuple):
        same = isinstance(existing, list | tuple) and len(existing) == len(expected)
        return same and all(map(_holds, existing, expected))
    return bool(unresolved_output_names(expected)) or existing == expected
