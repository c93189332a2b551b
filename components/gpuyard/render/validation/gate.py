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
    POOL_LABEL,
    gate_name,
)
from gpuyard.plan.records import STARTS_WITH, PlatformPlan, PoolPlan, ValidationPlan
from gpuyard.render.access import RBAC, granted
from gpuyard.render.admission.cel import listed, maybe, quoted
from gpuyard.render.cloud.spelling import fit
from gpuyard.render.gpu_operator.objects import agents_tolerate, operator_namespace
from gpuyard.render.objects import Object, made, service_account, system_tolerations, taint_object
from gpuyard.render.programs import CONFINED, NOBODY, source_of
from gpuyard.render.validation.jobs import check_pod, expectations_object, node_digest

PACKAGE, BORROWED = "gpuyard_gate", ("__init__.py", "web.py")
_LENDER = "gpuyard_idle"
PASSED = "passed"
SETTINGS_FILE = "settings.json"
EVERY_SECONDS = 15
_API = "admissionregistration.k8s.io/v1"


def gate_objects(plan: PlatformPlan) -> list[Object]:
    """Rights and their limits first; nothing where no node is looked at when it comes."""
    asked, pools = plan.validation, gated_pools(plan)
    if asked is None or not pools:
        return []
    return [
        *_rights(plan),
        *_policy(plan),
        *_program(plan, asked, pools),
        *(obj for pool in pools for obj in _checks(plan, asked, pool)),
    ]


def gated_pools(plan: PlatformPlan) -> list[PoolPlan]:
    """The pools whose nodes are looked at when they come."""
    return [plan.pool(p.pool) for p in (plan.validation.pools if plan.validation else ()) if p.gate]


def settings_text(plan: PlatformPlan, asked: ValidationPlan) -> str:
    """What the program is told, as JSON."""
    gates = {each.pool: each.gate for each in asked.pools}
    told = {
        "namespace": operator_namespace(plan),
        "every_seconds": EVERY_SECONDS,
        "most_closed_percent": asked.most_closed_percent,
        "names": {
            "checks": CHECKS_LABEL,
            "checked": CHECKED_LABEL,
            "result": CHECK_RESULT_LABEL,
            "says": CHECK_SAYS,
            "boot": CHECK_BOOT,
            "closed": CHECK_CLOSED,
            "taint": taint_object(STARTS_WITH),
        },
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
    return json.dumps(told, indent=2) + "\n"


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
        made(plan.name, f"{RBAC}/v1", "ClusterRole", name, rules=nodes),
        made(plan.name, f"{RBAC}/v1", "ClusterRoleBinding", name, roleRef=ref, subjects=who),
        *granted(plan.name, space, name, pods, who),
        *granted(plan.name, "default", name, events, who),
    ]


def _policy(plan: PlatformPlan) -> list[Object]:
    """Of a node the account changes its marks, our taint and whether it takes pods, and nothing else."""
    name = gate_name(plan.name)
    account = f"system:serviceaccount:{operator_namespace(plan)}:{name}"
    ours = listed((CHECKED_LABEL, CHECK_RESULT_LABEL, CHECK_SAYS, CHECK_BOOT, CHECK_CLOSED))
    new, old = "object", "oldObject"

    def kept(part: str) -> str:
        there, was = (maybe(each, f"metadata.{part}", "{}") for each in (new, old))
        return (
            f"{there}.all(k, k in {ours} || (k in {was} && {was}[k] == {there}[k]))"
            f" && {was}.all(k, k in {ours} || k in {there})"
        )

    def others(each: str) -> str:
        text = f"t.key + '=' + {maybe('t', 'value', quoted(''))} + ':' + t.effect"
        return f"{maybe(each, 'spec.taints', '[]')}.filter(t, t.key != {quoted(GATE_TAINT)}).map(t, {text})"

    holds = {
        "labels": kept("labels"),
        "annotations": kept("annotations"),
        "taints": f"{others(new)} == {others(old)}",
        "finalizers": " == ".join(maybe(each, "metadata.finalizers", "[]") for each in (new, old)),
        "owners": " == ".join(
            f"{maybe(each, 'metadata.ownerReferences', '[]')}.map(o, o.uid)" for each in (new, old)
        ),
    }
    who = f"request.userInfo.username == {quoted(account)}"
    spec = {
        "failurePolicy": "Fail",
        "matchConstraints": {
            "resourceRules": [
                {
                    "apiGroups": [""],
                    "apiVersions": ["v1"],
                    "operations": ["UPDATE"],
                    "resources": ["nodes"],
                }
            ]
        },
        "matchConditions": [{"name": "the-gate", "expression": who}],
        "validations": [
            {"expression": text, "message": f"{name} does not change other {what} of nodes"}
            for what, text in holds.items()
        ],
    }
    bound = {"policyName": name, "validationActions": ["Deny"]}
    return [
        made(plan.name, _API, "ValidatingAdmissionPolicy", name, spec=spec),
        made(plan.name, _API, "ValidatingAdmissionPolicyBinding", name, spec=bound),
    ]


def _program(plan: PlatformPlan, asked: ValidationPlan, pools: list[PoolPlan]) -> list[Object]:
    name, space = gate_name(plan.name), operator_namespace(plan)
    own, lent = source_of(PACKAGE), source_of(_LENDER)
    files = {f"{PACKAGE}/{path}": text for path, text in own.items()}
    files |= {f"{_LENDER}/{path}": lent[path] for path in BORROWED}
    data = {path.replace("/", ".."): text for path, text in files.items()}
    data[SETTINGS_FILE] = settings_text(plan, asked)
    items = [{"key": path.replace("/", ".."), "path": path} for path in files]
    items.append({"key": SETTINGS_FILE, "path": SETTINGS_FILE})
    labels = {"app.kubernetes.io/name": name}
    spec = {
        "replicas": 1,
        # Two at once would each count what may be closed.
        "strategy": {"type": "Recreate"},
        "selector": {"matchLabels": labels},
        "template": {
            "metadata": {
                "labels": labels,
                # It reads its settings once.
                "annotations": {CHECKED_LABEL: ",".join(node_digest(plan, p) for p in pools)},
            },
            "spec": _pod(plan, asked, items),
        },
    }
    return [
        made(plan.name, "v1", "ConfigMap", name, namespace=space, data=data),
        made(plan.name, "apps/v1", "Deployment", name, namespace=space, spec=spec),
    ]


def _pod(plan: PlatformPlan, asked: ValidationPlan, items: list[Object]) -> Object:
    """On nodes without GPUs where there are any; else it must not wait for what it is there to open."""
    elsewhere = {"matchExpressions": [{"key": POOL_LABEL, "operator": "DoesNotExist"}]}
    name = gate_name(plan.name)
    return {
        "serviceAccountName": name,
        "automountServiceAccountToken": True,
        "tolerations": [*system_tolerations(), *agents_tolerate(plan)],
        "affinity": {
            "nodeAffinity": {
                "preferredDuringSchedulingIgnoredDuringExecution": [
                    {"weight": 100, "preference": elsewhere}
                ]
            }
        },
        "securityContext": dict(NOBODY),
        "containers": [
            {
                "name": "gate",
                "image": asked.image,
                "command": ["python3", "-B", "-m", PACKAGE],
                "args": ["--settings", f"/program/{SETTINGS_FILE}"],
                "workingDir": "/program",
                "resources": {
                    "requests": {"cpu": "20m", "memory": "64Mi"},
                    "limits": {"memory": "512Mi"},
                },
                "securityContext": dict(CONFINED),
                "volumeMounts": [{"name": "program", "mountPath": "/program", "readOnly": True}],
            }
        ],
        "volumes": [{"name": "program", "configMap": {"name": name, "items": items}}],
    }


def _checks(plan: PlatformPlan, asked: ValidationPlan, pool: PoolPlan) -> list[Object]:
    """Its pods end at once and are started again, until their node says that it has passed.

    So one that was mended is seen to be, five minutes later at most: the longest that a kubelet waits.
    """
    name, digest = _name(plan, pool), node_digest(plan, pool)
    expects = f"{name}-{digest}"
    pod = check_pod(plan, asked, pool, expects)
    chosen = pod["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    (ready,) = chosen["nodeSelectorTerms"]
    chosen["nodeSelectorTerms"] = [
        {
            "matchExpressions": [
                *ready["matchExpressions"],
                {"key": label, "operator": "NotIn", "values": [value]},
            ]
        }
        for label, value in ((CHECKED_LABEL, digest), (CHECK_RESULT_LABEL, PASSED))
    ]
    labels = {CHECKS_LABEL: name}
    spec = {
        "selector": {"matchLabels": labels},
        "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "100%"}},
        "template": {"metadata": {"labels": {**labels, CHECKED_LABEL: digest}}, "spec": pod},
    }
    return [
        expectations_object(plan, pool, expects),
        made(
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
