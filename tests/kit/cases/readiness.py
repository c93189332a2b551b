"""A ready platform, its cluster, and the changes of a case to both."""

import copy
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date
from functools import cache
from pathlib import Path
from typing import Any

import yaml

import proofs
from gpuyard.plan.records import PlatformPlan, PoolPlan
from gpuyard.render.cloud.graph import CloudGraph, Json
from gpuyard.spec.read import read_stack_file
from gpuyard.stack_validation import ValidatedStack, validate
from gpuyard_advisor.readiness.assessment import Readiness, run_checks
from gpuyard_advisor.readiness.inputs import LISTED_KINDS, ClusterObjects, Subject
from gpuyard_core.findings import Diagnostic, Severity
from gpuyard_core.names import (
    CHECK_RESULT_LABEL,
    CHECKED_LABEL,
    COUNT_LABEL,
    DRIVER_VERSION_LABEL,
    GPU,
    MIG_CONFIG_LABEL,
    MIG_STATE_LABEL,
)
from kit.stacks import stack_file

HERE = Path(__file__).parents[2] / "readiness"
NODES = 2
"""Nodes of each pool in the cluster."""


@cache
def base(name: str = "ready") -> Any:
    """A platform from its file."""
    return yaml.safe_load((HERE / f"{name}.yaml").read_text(encoding="utf-8"))


def judged(case: Mapping[str, Any]) -> ValidatedStack:
    """The platform with a change; fails with every finding when that is rejected."""
    raw = proofs.patched(base(case.get("base", "ready")), case.get("with", {}))
    config = {"aws:region": "us-east-1"} if raw["cloud"] == "aws" else {}
    result = validate(read_stack_file(stack_file(raw, config), "ready.yaml"), date(2026, 11, 21))
    assert result.plan is not None, [str(f) for f in result.findings]
    return result


@cache
def subject(name: str = "ready") -> Subject:
    """A platform from its file, rendered once."""
    result = judged({"base": name})
    return Subject(result.plan, result.findings)


@cache
def healthy(name: str = "ready") -> dict[str, list[Any]]:
    """The objects of a cluster without defects; not to be changed."""
    return cluster_of(subject(name).plan)


def subject_of(case: Mapping[str, Any]) -> Subject:
    """The subject with a case's changes to the platform, its pools, its objects, and its cloud graph."""
    if not case.keys() & {"with", "findings", "pools", "rendered", "graph"}:
        return subject(case.get("base", "ready"))
    result = judged(case)
    warned = tuple(
        Diagnostic(
            id=each, severity=Severity.WARNING, path=("software",), problem="as said", given="x"
        )
        for each in case.get("findings", ())
    )
    plan = result.plan
    for name, fields in case.get("pools", {}).items():
        pools = [replace(p, **fields) if p.name == name else p for p in plan.pools]
        plan = replace(plan, pools=tuple(pools))
    created = Subject(plan, (*result.findings, *warned))
    if "rendered" in case:
        created.__dict__["rendered"] = changed(
            created.rendered.objects, {"cluster": case["rendered"]}
        )
    for name, patch in case.get("graph", {}).items():
        created.__dict__["graph"] = _regraphed(created.graph, name, patch)
    return created


def _regraphed(graph: CloudGraph, name: str, patch: Mapping[str, Any]) -> CloudGraph:
    """The graph with other inputs of one resource; a JSON document is patched as a tree."""
    old = graph.resource(name)
    plain = {k: v.tree if isinstance(v, Json) else v for k, v in old.inputs.items()}
    inputs = proofs.patched(plain, patch)
    inputs |= {k: Json(inputs[k]) for k, v in old.inputs.items() if isinstance(v, Json)}
    new = replace(old, inputs=inputs)
    return replace(graph, resources=tuple(new if r is old else r for r in graph.resources))


def asked(case: Mapping[str, Any], *, live: bool = False) -> Readiness:
    """The results of all checks for a case, with `live` also of its cluster."""
    kinds = healthy(case.get("base", "ready")) if live else {}
    return run_checks(subject_of(case), changed(kinds, case) if live else None)


def answers(result: Readiness) -> dict[str, str]:
    """The result of each check, as users see it."""
    return {a.check.id: a.status.value if a.applies else "n/a" for a in result.answers}


# ── the cluster ───────────────────────────────────────────────────────────────────────────────────
def cluster_of(plan: PlatformPlan) -> dict[str, list[Any]]:
    """Objects by kind: the rendered ones and their dependents, as controllers leave them."""
    kinds: dict[str, list[Any]] = {kind: [] for kind in (*LISTED_KINDS, "Secret")}
    rendered = Subject(plan).rendered
    for kind in LISTED_KINDS:
        kinds[kind] += copy.deepcopy(list(rendered.all(kind)))
    for each in yaml.safe_load((HERE / "cluster.yaml").read_text(encoding="utf-8")):
        kinds[each["kind"]].append(each)
    for queue in kinds["ClusterQueue"]:
        queue["status"] = {"conditions": [{"type": "Active", "status": "True"}]}
    for claim in kinds["PersistentVolumeClaim"]:
        claim["status"] = {"phase": "Bound"}
    for kind in ("ServiceMonitor", "PrometheusRule", "AlertmanagerConfig"):
        for each in kinds[kind]:
            each["metadata"]["uid"] = f"{kind}-{each['metadata']['name']}"
    for pool in plan.pools:
        for number in range(NODES):
            kinds["Node"].append(node(pool, f"{pool.name}-{number}"))
            kinds["Pod"].append(exporter(f"{pool.name}-{number}"))
    return kinds


def node(pool: PoolPlan, name: str) -> dict[str, Any]:
    """A node of a pool with the labels that its agents wrote."""
    labels = {
        **pool.node_selector,
        f"{GPU}.product": pool.machine.gpu.product,
        COUNT_LABEL: str(pool.machine.gpus),
        DRIVER_VERSION_LABEL: pool.node_software.driver if pool.node_software else "1",
        CHECK_RESULT_LABEL: "passed",
        CHECKED_LABEL: "0123",
    }
    if pool.mig_config:
        labels |= {MIG_CONFIG_LABEL: pool.mig_config, MIG_STATE_LABEL: "success"}
    return {
        "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "spec": {"taints": [{"key": taint.key} for taint in pool.taints]},
        "status": {"capacity": {GPU: str(pool.machine.gpus)}},
    }


def exporter(on: str) -> dict[str, Any]:
    """DCGM's exporter on a node."""
    env = [{"name": "DCGM_EXPORTER_KUBERNETES", "value": "true"}]
    image = "registry.example.org/dcgm@sha256:0123"
    return {
        "kind": "Pod",
        "metadata": {
            "name": f"exporter-{on}",
            "namespace": "gpu-operator",
            "labels": {"app": "nvidia-dcgm-exporter"},
            "ownerReferences": [{"kind": "DaemonSet"}],
        },
        "spec": {
            "nodeName": on,
            "containers": [{"name": "c", "image": image, "env": env}],
            "volumes": [{"name": "counters", "configMap": {"name": "counters"}}],
        },
        "status": {"phase": "Running"},
    }


def changed(kinds: Mapping[str, Sequence[Any]], case: Mapping[str, Any]) -> ClusterObjects:
    """The cluster of a case: changed, removed (`null`) or new objects by kind and name; missing or forbidden kinds."""
    created = {kind: list(objects) for kind, objects in kinds.items()}
    created |= {kind: [] for kind in case.get("cluster", ()) if kind not in created}
    for kind, changes in case.get("cluster", {}).items():
        for name, patch in changes.items():
            results = [each for each in created[kind] if each["metadata"]["name"] == name]
            created[kind] = [each for each in created[kind] if each not in results]
            if patch is not None:
                old = results or [{"kind": kind, "metadata": {"name": name}}]
                created[kind] += [proofs.patched(each, patch) for each in old]
    absent = frozenset(case.get("lacks", ()))
    for kind in {*absent, *case.get("empty", ())}:
        created[kind] = []
    return ClusterObjects(objects=created, unreadable=case.get("unread", {}), absent=absent)
