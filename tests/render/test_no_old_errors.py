"""What guides get wrong about queues, quotas and admission cannot be in what we render.

One check for each such row of the list of their errors (`tests/rules/test_guides.py` has the rows as the
guides have them). Each check first finds the error in the guide's own lines; then it looks at every object
of every stack and of dozens of made-up platforms, and finds nothing.
"""

import textwrap
from functools import lru_cache

import pytest
import yaml
from testbed.yard import jobs

from gpuyard.plan.records.late import resolve_outputs
from gpuyard.render.platform import platform_objects
from gpuyard_core.names import GPU_CLAIM, PRIORITY_LABEL, QUEUE_LABEL
from kit.generated import platforms
from render.test_golden import PLANNED, stack
from rules.test_guides import GUIDES

EXTENDED = ("nvidia.com/", "requests.nvidia.com/")


@lru_cache
def rendered():
    """All objects of a platform together, for many platforms."""
    made = [found for found in (platforms.known(n)[0] for n in platforms.KNOWN) if found]
    plans = [*(stack(name) for name in PLANNED), *made]
    return [
        (plan, [resolve_outputs(o, lambda _: "later") for o in platform_objects(plan)])
        for plan in plans
    ]


def of(objects, kind):
    return [o for o in objects if o["kind"] == kind]


def old_api(objects):
    return [o for o in objects if o["apiVersion"] == "kueue.x-k8s.io/v1beta1"]


def cohort_field(objects):
    return [o for o in of(objects, "ClusterQueue") if "cohort" in o["spec"]]


def no_namespace_selector(objects):
    return [o for o in of(objects, "ClusterQueue") if o["spec"].get("namespaceSelector") is None]


def priority_in_a_spec(objects):
    found = of(objects, "WorkloadPriorityClass")
    return [o for o in found if "spec" in o or not isinstance(o.get("value"), int)]


def queue_as_annotation(value):
    """Annotations, at any depth, that name a queue: Kueue reads the job's own label."""
    inner = value.values() if isinstance(value, dict) else value
    if not isinstance(value, dict | list):
        return []
    found = [f for one in inner for f in queue_as_annotation(one)]
    held = value.get("annotations") if isinstance(value, dict) else None
    return [*found, held] if isinstance(held, dict) and QUEUE_LABEL in held else found


def scoped_by_kueue_priority(objects):
    names = {o["metadata"]["name"] for o in of(objects, "WorkloadPriorityClass")}
    return [
        o
        for o in of(objects, "ResourceQuota")
        for e in o["spec"].get("scopeSelector", {}).get("matchExpressions", [])
        if names & set(e.get("values", []))
    ]


def quota_that_never_binds(objects):
    """Limits of extended resources, and whatever a scope does not support."""
    return [
        o
        for o in of(objects, "ResourceQuota")
        if any(key.startswith("limits.nvidia.com/") for key in o["spec"]["hard"])
        or ("scopeSelector" in o["spec"] and "persistentvolumeclaims" in o["spec"]["hard"])
    ]


def outside_by_pod_selector(objects):
    """Egress to 443 'outside' that selects pods, and egress without any way to a name server."""
    policies = [o for o in of(objects, "NetworkPolicy") if "Egress" in o["spec"]["policyTypes"]]
    by_namespace = {}
    for o in policies:
        by_namespace.setdefault(o["metadata"]["namespace"], []).extend(o["spec"].get("egress", []))
    return [
        namespace
        for namespace, rules in by_namespace.items()
        if not {("UDP", 53), ("TCP", 53)}
        <= {(p.get("protocol", "TCP"), p["port"]) for r in rules for p in r.get("ports", [])}
        or any({"podSelector": {}} in r["to"] for r in rules if _ports(r) & {443})
    ]


def _ports(rule):
    return {port["port"] for port in rule.get("ports", [])}


def webhook(objects):
    """What the API server can decide by itself needs no webhook that may be down."""
    return [o for o in objects if o["kind"].endswith("WebhookConfiguration")]


CHECKS = {
    "002:90-145 O": old_api,
    "002:103 X": cohort_field,
    "002:98-118 X": no_namespace_selector,
    "002:130-145, 776-790 X": priority_in_a_spec,
    "002:598-599 X": queue_as_annotation,
    "002:805-818 X": scoped_by_kueue_priority,
    "002:954-957 X": quota_that_never_binds,
    "002:989-1001 X": outside_by_pod_selector,
}


@pytest.mark.repeats("tests/render/test_golden.py")
@pytest.mark.parametrize("row", CHECKS)
def test_the_error_of_a_guide_is_found_there_and_never_in_ours(row):
    check = CHECKS[row]
    guide = [d for d in yaml.safe_load_all(textwrap.dedent(GUIDES[row][1])) if d]
    assert check(guide), "the check must see the error in the guide's own lines"
    found = {plan.name: check(objects) for plan, objects in rendered()}
    assert {name: bad for name, bad in found.items() if bad} == {}


def test_ours_have_what_these_checks_are_about():
    kinds = {o["kind"] for _, objects in rendered() for o in objects}
    assert kinds >= {"ClusterQueue", "LocalQueue", "ResourceQuota", "WorkloadPriorityClass"}
    assert len(rendered()) > 30


def test_quotas_and_queues_name_only_what_nodes_advertise():
    # 002:215-232 X: a quota of mig-1g.10gb where nodes advertise nvidia.com/gpu binds nothing.
    for plan, objects in rendered():
        known = {a.resource for pool in plan.pools for a in pool.advertised} | {GPU_CLAIM}
        for quota in of(objects, "ResourceQuota"):
            named = {k.removeprefix("requests.") for k in quota["spec"]["hard"]}
            assert {n for n in named if n.startswith("nvidia.com/")} <= known
        for queue in of(objects, "ClusterQueue"):
            for group in queue["spec"].get("resourceGroups", []):
                named = set(group["coveredResources"])
                assert {n for n in named if n.startswith(EXTENDED)} <= known


def test_a_job_of_the_tour_names_its_queue_where_kueue_looks():
    # 002:598-599 X and 002:128 W: a label of the job itself, or a LocalQueue called default.
    manifest = jobs._manifest(jobs.Gang("vision", "a", 1, 8))
    assert queue_as_annotation([manifest]) == []
    assert PRIORITY_LABEL not in manifest["spec"]["template"].get("metadata", {}).get("labels", {})
    _, local = next((p, o) for p, o in rendered() if p.name == "local")
    queues = {(o["metadata"]["namespace"], o["metadata"]["name"]) for o in of(local, "LocalQueue")}
    named = manifest["metadata"].get("labels", {}).get(QUEUE_LABEL, "default")
    assert ("vision", named) in queues


def test_no_webhook_of_ours_decides_what_the_server_can():
    # 002:1034-1052 W.
    guide = [{"kind": "MutatingWebhookConfiguration"}]
    assert webhook(guide)
    assert [w for _, objects in rendered() for w in webhook(objects)] == []
