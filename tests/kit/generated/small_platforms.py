"""Small platforms and the jobs of their teams, generated from a number, for `lab`."""

import random
from collections.abc import Iterator
from itertools import product
from typing import Any

from gpuyard.plan.records import PlatformPlan
from gpuyard_core.findings import Severity
from kit.stacks import Raw, findings, plan_of
from proofs import applied

Value = dict[str, Any]
CUTS = [{"1g.5gb": 7}, {"1g.5gb": 2, "2g.10gb": 1, "3g.20gb": 1}, {"3g.20gb": 2}]


def small_platform(number: int, *, fair: bool) -> Raw:
    """Two to four pools of different sharing, two or three teams; names are unique to this platform."""
    rng = random.Random(number)  # noqa: S311  no secret is made of it
    kinds = rng.choices(["whole", "whole", "cut", "shared"], k=rng.randint(2, 4))
    pools = []
    for index, kind in enumerate(kinds):
        pool: Raw = {"name": f"p{number}-{'abcd'[index]}", "nodes": rng.randint(1, 3)}
        if kind == "whole":
            pool["machine"] = rng.choice(["p5.48xlarge", "g6.12xlarge"])
        elif kind == "cut":
            pool |= {"machine": "p4d.24xlarge", "nodes": 1, "sharing": {"mig": rng.choice(CUTS)}}
        else:
            pool |= {"machine": "g6.12xlarge", "nodes": 1, "sharing": {"time_slicing": 2}}
        pools.append(pool)
    raw: Raw = {
        "name": f"lab{number}",
        "cloud": "simulated",
        "kubernetes": "1.36",
        "pools": pools,
        "queueing": {
            "engine": "kueue",
            "preemption": rng.choice(["reclaim", "reclaim", "never"]),
            "fair_sharing": fair,
        },
    }
    raw["teams"] = teams_of(raw, number, rng)
    return raw


def teams_of(raw: Raw, number: int, rng: random.Random, letters: str = "xyz") -> list[Raw]:
    """Guarantees within the capacity, borrowing within reach, sometimes a limit to lending."""
    created = plan_of(raw | {"teams": []})
    remaining = {
        (f"{p.name}/{a.unit}" if a.unit else p.name): a.per_node * p.nodes.high
        for p in created.pools
        for a in p.advertised
    }
    complete = dict(remaining)
    teams: list[Raw] = []
    for letter in letters[: rng.randint(len(letters) - 1, len(letters))]:
        team: Raw = {"name": f"t{number}-{letter}", "guarantee": {}}
        for key, amount in remaining.items():
            team["guarantee"][key] = share = rng.randint(0, amount)
            remaining[key] = amount - share
        if rng.random() < 0.3:
            team["lend"] = {k: rng.randint(0, n) for k, n in team["guarantee"].items() if n}
        if fairness := rng.choice([None, 2, 0.5]):
            team["weight"] = fairness
        teams.append(team)
    for team in teams:
        others = {
            key: remaining[key]
            + sum(t.get("lend", t["guarantee"]).get(key, 0) for t in teams if t is not team)
            for key in complete
        }
        team["borrow"] = {
            k: rng.choice([n, n, rng.randint(0, n)])
            for k, n in others.items()
            if n and rng.random() < 0.8
        }
    return teams


def tree_platform(number: int, *, fair: bool) -> Raw:
    """The same with more teams, in a tree of cohorts with limits that sometimes apply, and with two queues."""
    rng = random.Random(f"tree {number}")  # noqa: S311
    raw = small_platform(number, fair=fair)
    if rng.random() < 0.7:  # one pool of many GPUs is contended more
        raw["pools"] = raw["pools"][:1]
    raw["teams"] = teams_of(raw, number, rng, letters="vwxyz")
    names = ["labs", "site", "wing"][: rng.randint(1, 3)]
    cohorts: list[Raw] = [{"name": name} for name in names]
    for index, cohort in enumerate(cohorts):
        if index and rng.random() < 0.6:
            cohort["parent"] = rng.choice(names[:index])
        if weight := rng.choice([None, 2, 0.5]):
            cohort["weight"] = weight
    for index, team in enumerate(raw["teams"]):
        if index < len(names) or rng.random() < 0.6:
            team["cohort"] = names[index] if index < len(names) else rng.choice(names)
        if rng.random() < 0.3:
            team["queues"] = {"default": 1, "night": 1}
    raw["queueing"]["cohorts"] = cohorts
    keys = [key for team in raw["teams"] for key in team["borrow"]]
    for cohort, word in product(cohorts, ("borrow", "lend")):
        if rng.random() < 0.45:
            cohort[word] = {key: rng.randint(0, 10) for key in keys}
    return within_reach(raw)


def within_reach(raw: Raw) -> Raw:
    """Valid limits: apply fixes until nothing is rejected."""
    while refused := [f for f in findings(raw) if f.severity is Severity.ERROR]:
        fix = refused[0].fix
        assert fix is not None
        assert fix.at is not None, refused[0]
        raw = applied(raw, fix)
    return raw


def jobs_for(plan: PlatformPlan, number: int, count: int) -> Iterator[Value]:
    """Jobs that mostly fit, and some that cannot: too large, misspelled, wrongly pinned, one by one."""
    rng = random.Random(f"jobs {number}")  # noqa: S311
    for index in range(count):
        team = rng.choice(plan.teams)
        pool = rng.choice(plan.pools)
        offer = rng.choice(pool.advertised)
        can_have = [q for q in team.quotas if q.nominal + q.borrow]
        most = offer.per_node
        if can_have and rng.random() < 0.9:
            wanted_by_all = [q for q in can_have if q.pool == plan.pools[0].name]
            quota = rng.choice(wanted_by_all if wanted_by_all and rng.random() < 0.6 else can_have)
            pool, most = plan.pool(quota.pool), quota.nominal + quota.borrow
            offer = next(a for a in pool.advertised if a.resource == quota.resource)
        per_pod = rng.randint(1, min(offer.per_node, most))
        at_most = max(1, most // per_pod)
        pods = rng.choice([at_most, at_most, rng.randint(1, at_most), 1, 2, at_most + 1])
        resource = offer.resource
        odd = rng.random()
        if odd < 0.06:
            per_pod = offer.per_node + 1
        elif odd < 0.1:
            resource = rng.choice(["nvidia.com/gpus", "nvidia.com/mig-1g.5g", "gpu"])
        limits: dict[str, object] = {resource: rng.choice([per_pod, str(per_pod)])}
        cpu = rng.choice([1, 1, 1, 4, 40])
        requests = {"cpu": str(cpu), "memory": f"{rng.choice([1, 1, 16])}Gi", **limits}
        if odd > 0.95:
            del requests[resource]
        if 0.1 < odd < 0.13:
            requests[resource] = per_pod + 1
        spec = pod_spec(requests, limits)
        dress(spec, plan, rng)
        meta: Value = {"name": f"j{index}", "namespace": team.default_namespace.name}
        if rng.random() < 0.05:
            meta["labels"] = {"kueue.x-k8s.io/queue-name": "nowhere"}
        yield workload(rng.choice(["Job"] * 8 + ["Pod", "Deployment"]), meta, spec, pods, rng)


def pod_spec(requests: Value, limits: Value | None = None) -> Value:
    """One container with these requests, which are also the limits by default."""
    resources = {"requests": requests, "limits": requests if limits is None else limits}
    container = {"name": "main", "image": "example.invalid/work", "resources": resources}
    return {"restartPolicy": "Never", "containers": [container]}


def dress(spec: Value, plan: PlatformPlan, rng: random.Random) -> None:
    """Selectors, affinity, sidecars and init containers, sometimes."""
    pool = rng.choice(plan.pools)
    luck = rng.random()
    if luck < 0.12:
        spec["nodeSelector"] = {"gpuyard.dev/pool": pool.stable_name}
    elif luck < 0.18:
        spec["nodeSelector"] = {"node.kubernetes.io/instance-type": pool.machine.name}
    elif luck < 0.24:
        expected = {"key": "gpuyard.dev/pool", "operator": "NotIn", "values": [pool.stable_name]}
        terms = {"nodeSelectorTerms": [{"matchExpressions": [expected]}]}
        spec["affinity"] = {
            "nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}
        }
    elif luck < 0.28:
        expected = {"key": "kubernetes.io/arch", "operator": "In", "values": ["amd64"]}
        terms = {"nodeSelectorTerms": [{"matchExpressions": [expected]}]}
        spec["affinity"] = {
            "nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}
        }
    if rng.random() < 0.1:
        first = {"name": "first", "image": "example.invalid/first"}
        first["resources"] = {"requests": {"cpu": rng.choice(["1", "60"])}}
        if rng.random() < 0.5:
            first["restartPolicy"] = "Always"
        spec["initContainers"] = [first]
    if rng.random() < 0.1:
        apart = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {}}}
        apart["labelSelector"]["matchLabels"] = {"apart": "yes"}
        spec.setdefault("affinity", {})["podAntiAffinity"] = {
            "requiredDuringSchedulingIgnoredDuringExecution": [apart]
        }


def workload(kind: str, meta: Value, spec: Value, pods: int, rng: random.Random) -> Value:
    """One object of this kind around a pod."""
    labels = {"job": meta["name"]}
    affinity = spec.get("affinity", {}).get("podAntiAffinity")
    if affinity:
        rule = affinity["requiredDuringSchedulingIgnoredDuringExecution"][0]
        rule["labelSelector"]["matchLabels"] = labels
    if kind == "Pod":
        meta["labels"] = {**labels, **meta.get("labels", {})}
        return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec}
    template = {"metadata": {"labels": labels}, "spec": spec}
    if kind == "Deployment":
        spec["restartPolicy"] = "Always"
        template["metadata"] = {"labels": {**labels, **meta.get("labels", {})}}
        body: Value = {"replicas": pods, "selector": {"matchLabels": labels}, "template": template}
        return {"apiVersion": "apps/v1", "kind": kind, "metadata": meta, "spec": body}
    body = {"parallelism": pods, "completions": rng.choice([pods, pods, 1]), "template": template}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": meta, "spec": body}
