"""Validation of new nodes: pods that check nodes without a verdict, and an agent that acts on it.

A DaemonSet for each pool has a pod on every node without a passed verdict for this digest. The
agent reads how these pods ended, writes the result on their nodes, and opens or closes them. So the
agent creates no pods, and a policy limits what it may change on nodes.
"""

import json

from gpuyard.plan.records import STARTS_WITH, PlatformPlan, PoolPlan, ValidationPlan
from gpuyard.render.access import account_subject, role_with_binding
from gpuyard.render.admission.cel import optional, quoted
from gpuyard.render.admission.policy_objects import (
    account_policy,
    other_metadata_unchanged_expressions,
)
from gpuyard.render.cloud.spelling import fit_name
from gpuyard.render.gpu_operator.objects import agent_tolerations, operator_namespace
from gpuyard.render.objects import (
    Object,
    node_affinity,
    node_agent,
    service_account,
    taint_object,
)
from gpuyard.render.programs import AgentDeployment
from gpuyard.render.scaling.priority_expander import selector_of
from gpuyard.render.validation.jobs import (
    check_pod,
    expectations_object,
    node_digest,
    node_ready_terms,
)
from gpuyard.render.validation.recurring import recurring_objects
from gpuyard_core.names import (
    CHECK_BOOT,
    CHECK_CLOSED,
    CHECK_RESULT_LABEL,
    CHECK_SAYS,
    CHECKED_LABEL,
    CHECKS_LABEL,
    GATE_TAINT,
    gate_name,
)

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
"""Names of nodes' fields that both agents use."""


def gate_objects(plan: PlatformPlan) -> list[Object]:
    """Permissions and limits first; none if new nodes are not validated."""
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
    """The pools whose new nodes are validated."""
    return [plan.pool(p.pool) for p in (plan.validation.pools if plan.validation else ()) if p.gate]


def settings_text(plan: PlatformPlan, validation: ValidationPlan) -> str:
    """The settings of the agent, as JSON."""
    gates = {each.pool: each.gate for each in validation.pools}
    settings = {
        "namespace": operator_namespace(plan),
        "every_seconds": EVERY_SECONDS,
        "max_unavailable_percent": validation.max_unavailable_percent,
        "names": dict(NAMES),
        "pools": [
            {
                "name": pool.name,
                "selector": selector_of(pool),
                "checks": _name(plan, pool),
                "digest": node_digest(plan, pool),
                "gate": gates[pool.name],
            }
            for pool in gated_pools(plan)
        ],
    }
    return json.dumps(settings, indent=2) + "\n"


def _name(plan: PlatformPlan, pool: PoolPlan) -> str:
    return fit_name(f"{gate_name(plan.name)}-{pool.stable_name}", 56)


def _rights(plan: PlatformPlan) -> list[Object]:
    """List and patch nodes, list pods of one namespace, create events."""
    name, space = gate_name(plan.name), operator_namespace(plan)
    who = [account_subject(name, space)]
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
        *role_with_binding(plan.name, None, name, nodes, who),
        *role_with_binding(plan.name, space, name, pods, who),
        *role_with_binding(plan.name, "default", name, events, who),
    ]


def _policy(plan: PlatformPlan) -> list[Object]:
    """The account changes only its labels and annotations, the gate taint and cordoning."""
    name = gate_name(plan.name)
    ours = (CHECKED_LABEL, CHECK_RESULT_LABEL, CHECK_SAYS, CHECK_BOOT, CHECK_CLOSED)
    text = f"t.key + '=' + {optional('t', 'value', quoted(''))} + ':' + t.effect"
    other_taints = f"filter(t, t.key != {quoted(GATE_TAINT)}).map(t, {text})"
    new, old = (
        f"{optional(each, 'spec.taints', '[]')}.{other_taints}" for each in ("object", "oldObject")
    )
    holds = {
        **other_metadata_unchanged_expressions(labels=ours, annotations=ours),
        "taints": f"{new} == {old}",
    }
    return account_policy(plan.name, name, operator_namespace(plan), ("", "v1", "nodes"), holds)


def _looker(plan: PlatformPlan, validation: ValidationPlan) -> AgentDeployment:
    return AgentDeployment(
        name=gate_name(plan.name),
        namespace=operator_namespace(plan),
        agent="gate",
        image=validation.image,
        settings=settings_text(plan, validation),
    )


def _program(plan: PlatformPlan, validation: ValidationPlan) -> list[Object]:
    # It tolerates the gate taint, which it removes.
    return _looker(plan, validation).objects(plan.name, agent_tolerations(plan))


def _checks(plan: PlatformPlan, validation: ValidationPlan, pool: PoolPlan) -> list[Object]:
    """Its pods end at once and are restarted until their node has passed.

    So a repaired node is detected within five minutes: the maximum restart delay of a kubelet.
    """
    name, digest = _name(plan, pool), node_digest(plan, pool)
    expects = f"{name}-{digest}"
    pod = check_pod(plan, validation, pool, expects)
    pod["affinity"] = node_affinity(
        *(
            [*node_ready_terms(plan, pool), {"key": label, "operator": "NotIn", "values": [value]}]
            for label, value in ((CHECKED_LABEL, digest), (CHECK_RESULT_LABEL, PASSED))
        )
    )
    # Its pods end by design, so it is never ready.
    checks = node_agent(
        plan.name,
        name,
        CHECKS_LABEL,
        pod,
        operator_namespace(plan),
        labels={CHECKED_LABEL: digest},
        at_once=True,
    )
    return [expectations_object(plan, pool, expects), checks]
