"""The check of nodes that come later: pods that look at each node without a verdict, and what acts on it.

A DaemonSet for each pool has a pod on every node that does not say it has passed by this digest. The program
reads how these pods ended, writes that on their nodes, and opens or closes them. So the
program makes no pods, and all that it may change is what a policy lets it change on nodes.
"""

import json

from gpuyard.names import (
    CHECK_BOOT,
    CHECK_CLOSED,
    CHECK_RESULT_LABEL,
    CHECK_SAYS,
    CHECKED_LABEL,
    CHECKS_LABEL,
    GATE_TAINT,
    gate_name,
)
from gpuyard.plan.records import STARTS_WITH, PlatformPlan, PoolPlan, ValidationPlan
from gpuyard.render.access import RBAC, granted
from gpuyard.render.admission.accounts import account_policy
from gpuyard.render.admission.cel import metadata_kept, optional, quoted
from gpuyard.render.cloud.spelling import fit
from gpuyard.render.gpu_operator.objects import agent_tolerations, operator_namespace
from gpuyard.render.objects import Object, managed_object, on_nodes, service_account, taint_object
from gpuyard.render.programs import AgentDeployment
from gpuyard.render.validation.jobs import (
    check_pod,
    expectations_object,
    node_digest,
    node_ready_terms,
)
from gpuyard.render.validation.recurring import recurring_objects

PACKAGE = "gpuyard_gate"
BORROWED = {"gpuyard_idle": ("__init__.py", "web.py")}
PASSED = "passed"
EVERY_SECONDS = 15
NAMES: Object = {
    "checks": CHECKS_LABEL,
    "checked": CHECKED_LABEL,
    "result": CHECK_RESULT_LABEL,
    "says": CHECK_SAYS,
    "boot": CHECK_BOOT,
    "tainted_since": CHECK_CLOSED,
    "taint": taint_object(STARTS_WITH),
}
"""What both programs know of nodes."""


def gate_objects(plan: PlatformPlan) -> list[Object]:
    """Rights and their limits first; nothing where no node is looked at when it comes."""
    validation, pools = plan.validation, gated_pools(plan)
    if validation is None or not pools:
        return []
    return [
        *_rights(plan),
        *_policy(plan),
        *_program(plan, validation),
        *recurring_objects(plan, validation, pools, _looker(plan, validation), dict(NAMES)),
        *(obj for pool in pools for obj in _checks(plan, validation, pool)),
    ]


def gated_pools(plan: PlatformPlan) -> list[PoolPlan]:
    """The pools whose nodes are looked at when they come."""
    return [plan.pool(p.pool) for p in (plan.validation.pools if plan.validation else ()) if p.gate]


def settings_text(plan: PlatformPlan, validation: ValidationPlan) -> str:
    """What the program is told, as JSON."""
    gates = {each.pool: each.gate for each in validation.pools}
    settings = {
        "namespace": operator_namespace(plan),
        "every_seconds": EVERY_SECONDS,
        "max_unavailable_percent": validation.max_unavailable_percent,
        "names": dict(NAMES),
        "pools": [
            {
                "name": pool.name,
                "selector": ",".join(f"{k}={v}" for k, v in sorted(pool.node_selector.items())),
                "checks": _name(plan, pool),
                "digest": node_digest(plan, pool),
                "gate": gates[pool.name],
            }
            for pool in gated_pools(plan)
        ],
    }
    return json.dumps(settings, indent=2) + "\n"


def _name(plan: PlatformPlan, pool: PoolPlan) -> str:
    return fit(f"{gate_name(plan.name)}-{pool.stable_name}", 56)


def _rights(plan: PlatformPlan) -> list[Object]:
    """Nodes to list and patch, pods of one namespace to list, events to tell."""
    name, space = gate_name(plan.name), operator_namespace(plan)
    who = [{"kind": "ServiceAccount", "name": name, "namespace": space}]
    ref = {"apiGroup": RBAC, "kind": "ClusterRole", "name": name}
    nodes, pods, events = (
        [{"apiGroups": [""], "resources": [what], "verbs": verbs}]
        for what, verbs in (
            ("nodes", ["list", "patch"]),
            ("pods", ["list"]),
            ("events", ["create"]),
        )
    )
    return [
        service_account(plan.name, name, space),
        managed_object(plan.name, f"{RBAC}/v1", "ClusterRole", name, rules=nodes),
        managed_object(
            plan.name, f"{RBAC}/v1", "ClusterRoleBinding", name, roleRef=ref, subjects=who
        ),
        *granted(plan.name, space, name, pods, who),
        *granted(plan.name, "default", name, events, who),
    ]


def _policy(plan: PlatformPlan) -> list[Object]:
    """Of a node the account changes its marks, our taint and whether it takes pods, and nothing else."""
    name = gate_name(plan.name)
    ours = (CHECKED_LABEL, CHECK_RESULT_LABEL, CHECK_SAYS, CHECK_BOOT, CHECK_CLOSED)
    text = f"t.key + '=' + {optional('t', 'value', quoted(''))} + ':' + t.effect"
    other_taints = f"filter(t, t.key != {quoted(GATE_TAINT)}).map(t, {text})"
    new, old = (
        f"{optional(each, 'spec.taints', '[]')}.{other_taints}" for each in ("object", "oldObject")
    )
    holds = {**metadata_kept(labels=ours, annotations=ours), "taints": f"{new} == {old}"}
    return account_policy(plan.name, name, operator_namespace(plan), ("", "v1", "nodes"), holds)


def _looker(plan: PlatformPlan, validation: ValidationPlan) -> AgentDeployment:
    return AgentDeployment(
        name=gate_name(plan.name),
        namespace=operator_namespace(plan),
        package=PACKAGE,
        shared_files=BORROWED,
        image=validation.image,
        settings=settings_text(plan, validation),
    )


def _program(plan: PlatformPlan, validation: ValidationPlan) -> list[Object]:
    # It must not wait for what it is there to open.
    return _looker(plan, validation).objects(plan.name, agent_tolerations(plan))


def _checks(plan: PlatformPlan, validation: ValidationPlan, pool: PoolPlan) -> list[Object]:
    """Its pods end at once and are started again, until their node says that it has passed.

    So one that was mended is seen to be, five minutes later at most: the longest that a kubelet waits.
    """
    name, digest = _name(plan, pool), node_digest(plan, pool)
    expects = f"{name}-{digest}"
    pod = check_pod(plan, validation, pool, expects)
    pod["affinity"] = on_nodes(
        *(
            [*node_ready_terms(plan, pool), {"key": label, "operator": "NotIn", "values": [value]}]
            for label, value in ((CHECKED_LABEL, digest), (CHECK_RESULT_LABEL, PASSED))
        )
    )
    labels = {CHECKS_LABEL: name}
    spec = {
        "selector": {"matchLabels": labels},
        "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "100%"}},
        "template": {"metadata": {"labels": {**labels, CHECKED_LABEL: digest}}, "spec": pod},
    }
    return [
        expectations_object(plan, pool, expects),
        managed_object(
            plan.name,
            "apps/v1",
            "DaemonSet",
            name,
            namespace=operator_namespace(plan),
            # It is never ready: its pods are there to go.
            annotations={"pulumi.com/skipAwait": "true"},
            spec=spec,
        ),
    ]
