"""Network policies of a team's pods: allowed sources and destinations."""

from typing import Any

from gpuyard.plan.records import EgressNetwork, NamespacePlan, PlatformPlan, TeamPlan
from gpuyard.plan.workloads.addons import addons_of
from gpuyard.render.objects import Object, managed_object
from gpuyard_core.catalogue.software.addons import addon_facts
from gpuyard_core.names import KUBE_SYSTEM, NAMESPACE_LABEL

POLICY = "gpuyard"
_NAMES = 53


def network_policy(plan: PlatformPlan, team: TeamPlan, space: NamespacePlan) -> Object:
    """Only the listed traffic is allowed; policies of team members can only allow more."""
    here: Object = {"podSelector": {}}
    egress: list[Object] = [{"to": [here]}, _names(team)]
    if team.egress:
        egress.append({"to": [_outside(reach) for reach in team.egress]})
    return managed_object(
        plan.name,
        "networking.k8s.io/v1",
        "NetworkPolicy",
        POLICY,
        namespace=space.name,
        spec={
            "podSelector": {},
            "policyTypes": ["Ingress", "Egress"],
            "ingress": [{"from": [here]}, *_controllers(plan, team)],
            "egress": egress,
        },
    )


def _controllers(plan: PlatformPlan, team: TeamPlan) -> list[Object]:
    """The controllers of add-ons that call pods of the team."""
    facts = [addon_facts()[name] for name in addons_of(plan, team)]
    return [
        {
            "from": [{"namespaceSelector": {"matchLabels": {NAMESPACE_LABEL: each.namespace}}}],
            "ports": [{"protocol": "TCP", "port": port} for port in each.ports],
        }
        for each in facts
        if each.ports
    ]


def _names(team: TeamPlan) -> Object:
    """Cluster DNS by its namespace, and DNS caches on nodes by their address."""
    peers: list[Object] = [
        {"namespaceSelector": {"matchLabels": {NAMESPACE_LABEL: KUBE_SYSTEM}}},
        *({"ipBlock": {"cidr": cidr}} for cidr in team.name_servers),
    ]
    return {
        "to": peers,
        "ports": [{"protocol": protocol, "port": _NAMES} for protocol in ("UDP", "TCP")],
    }


def _outside(reach: EgressNetwork) -> Object:
    block: dict[str, Any] = {"cidr": reach.cidr}
    if reach.without:
        block["except"] = list(reach.without)
    return {"ipBlock": block}
