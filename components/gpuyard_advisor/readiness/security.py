"""Security: restrictions of teams, access to the cluster, and its software."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from gpuyard.plan.records import TeamPlan, usable_pools
from gpuyard.render.gpu_operator.objects import operator_namespace
from gpuyard.render.supply.images import pulled_images
from gpuyard.spec.teams import Isolation, PodSecurity
from gpuyard_advisor.readiness.evidence import (
    Observation,
    failing,
    not_applicable,
    observe,
    passing,
    unknown,
)
from gpuyard_advisor.readiness.inputs import (
    ClusterCheck,
    ClusterObjects,
    K8sObject,
    Subject,
    at,
    by_namespace,
    label,
    listed,
    missing_object,
    name_of,
    not_applicable_if_simulated,
    not_applicable_without_teams,
    place_of,
    planned_objects,
    space_of,
)
from gpuyard_core.catalogue.sharing import SharingMethod
from gpuyard_core.names import KUBE_SYSTEM, POD_SECURITY_LABEL

_TURNS = (SharingMethod.TIME_SLICING, SharingMethod.MPS)
_ANYWHERE = ("0.0.0.0/0", "::/0")
_PLUGINS = re.compile("cilium|calico|anetd|antrea|kube-router|aws-eks-nodeagent")
"""Daemons that enforce NetworkPolicy; GKE's Dataplane V2 is anetd, EKS's agent a container of aws-node."""
_DEVICES = re.compile(r"^/(dev|etc/udev|run/udev)(/|$)")
_DNS = 53
_NODES = "launch templates"


# ── teams ─────────────────────────────────────────────────────────────────────────────────────────
def _pod_security(subject: Subject, objects: ClusterObjects) -> Iterator[Observation]:
    """For rendered and for live namespaces."""
    yield from not_applicable_without_teams(subject)
    spaces = {name_of(each): each for each in objects.all("Namespace")}
    for team, space in subject.team_spaces:
        where = f"Namespace {space}"
        if space not in spaces:
            yield missing_object(where)
            continue
        level = label(spaces[space], POD_SECURITY_LABEL)
        yield observe(where, level or "none", _too_loose(subject, team, level))
    brings = operator_namespace(subject.plan)
    ours = {space for _, space in subject.team_spaces}
    for name, each in spaces.items():
        loose = label(each, POD_SECURITY_LABEL) == PodSecurity.PRIVILEGED.value
        if loose and name not in {brings, KUBE_SYSTEM, *ours}:
            yield failing(f"Namespace {name}", "privileged", f"only {brings} may be privileged")


def _too_loose(subject: Subject, team: TeamPlan, level: str) -> str:
    if level == PodSecurity.RESTRICTED.value:
        return ""
    reached = usable_pools(team.quotas)
    rdma = [p.name for p in subject.plan.pools if p.nccl is not None and p.name in reached]
    if level != PodSecurity.BASELINE.value:
        return "its pods may access the host"
    return "" if rdma else "none of its pools has RDMA: restricted is enough"


def _walls(subject: Subject, objects: ClusterObjects) -> Iterator[Observation]:
    yield from not_applicable_without_teams(subject)
    for _, space, result in by_namespace(subject, objects, "NetworkPolicy"):
        both = [p for p in result if _is_default(p)]
        open_ones = [
            p for p in result for rule in listed(p, "spec", "egress") if not at(rule, "to")
        ]
        names = any(_has_dns(p) for p in result)
        wrong = "" if names else "DNS is not allowed"
        if open_ones:
            wrong = "egress is unrestricted"
        if not both:
            wrong = "no default-deny policy"
        yield observe(f"NetworkPolicy in {space}", f"{len(result)} policies", wrong)


def _is_default(policy: K8sObject) -> bool:
    everybody = not at(policy, "spec", "podSelector")
    return everybody and {"Ingress", "Egress"} <= set(listed(policy, "spec", "policyTypes"))


def _has_dns(policy: K8sObject) -> bool:
    rules = listed(policy, "spec", "egress")
    return any(at(port, "port") == _DNS for rule in rules for port in listed(rule, "ports"))


def _walls_planned(subject: Subject, rendered: ClusterObjects) -> Iterator[Observation]:
    yield from _walls(subject, rendered)
    plugins = [*_network_plugins(subject)]
    for where, value, required in plugins:
        wrong = "" if value == required else "it enforces no network policies"
        yield observe(where, value, wrong)
    if not plugins:
        yield unknown("the network plugin that enforces them requires the cluster: add --live")


def _network_plugins(subject: Subject) -> Iterator[tuple[str, str, str]]:
    """The setting of the cluster's network plugin, its value, and the one that enforces policies."""
    for addon in _of(subject, "aws:eks/addon:Addon"):
        if addon["addonName"] == "vpc-cni":
            on = addon["configurationValues"].tree["enableNetworkPolicy"]
            yield "addon vpc-cni: enableNetworkPolicy", on, "true"
    for cluster in _of(subject, "gcp:container/cluster:Cluster"):
        yield "cluster: datapathProvider", cluster["datapathProvider"], "ADVANCED_DATAPATH"


def _walls_stand(subject: Subject, cluster: ClusterObjects) -> Iterator[Observation]:
    yield from _walls(subject, cluster)
    daemons = cluster.all("DaemonSet")
    results = [d for d in daemons if _PLUGINS.search(f"{name_of(d)} {_container_names(d)}")]
    yield from (passing(place_of(each), "enforces them") for each in results)
    if not results:
        yield failing("daemonsets", len(daemons), "no known network plugin enforces them")


def _container_names(obj: K8sObject) -> str:
    containers = listed(obj, "spec", "template", "spec", "containers")
    return " ".join(str(at(each, "name")) for each in containers)


def _refused(subject: Subject, cluster: ClusterObjects) -> Iterator[Observation]:
    yield from not_applicable_without_teams(subject)
    for where, each in planned_objects(subject, cluster, "ValidatingAdmissionPolicyBinding"):
        if each is None:
            yield missing_object(where)
            continue
        actions = ", ".join(map(str, listed(each, "spec", "validationActions")))
        yield observe(where, actions, "" if "Deny" in actions else "it rejects nothing")
    admission = subject.plan.spec.admission
    wrong = "" if admission and admission.allowed_images else "images of any registry are admitted"
    value = ", ".join(admission.allowed_images) if admission else ""
    yield observe("plan.spec.admission.allowed_images", value or "none", wrong)


def _canary(subject: Subject, _: ClusterObjects) -> Iterator[Observation]:
    yield from not_applicable_if_simulated(subject, "they run no driver")
    wrong = "drivers roll out pool by pool; a new GPU Operator version reaches all pools at once"
    yield failing("plan.pools", len(subject.plan.pools), wrong)


def _turns(subject: Subject, _: ClusterObjects) -> Iterator[Observation]:
    shared = [pool for pool in subject.plan.pools if pool.sharing in _TURNS]
    if not shared:
        yield not_applicable("no pool uses time-slicing or MPS")
    for pool in shared:
        having = [t for t in subject.plan.teams if pool.name in usable_pools(t.quotas)]
        apart = [t.name for t in having if t.isolation is not Isolation.SHARED]
        wrong = f"{', '.join(apart)} requested isolation" if apart and having[1:] else ""
        names = ", ".join(team.name for team in having) or "no team"
        yield observe(f"plan.pools.{pool.name}.sharing", f"{pool.sharing.value}: {names}", wrong)


# ── the cluster ───────────────────────────────────────────────────────────────────────────────────
def _of(subject: Subject, kind: str) -> list[Mapping[str, Any]]:
    return [each.inputs for each in subject.graph.resources_of_kind(kind)] if subject.graph else []


def _unmanaged_cluster(subject: Subject) -> Iterator[Observation]:
    """The observation for a cluster that the stack does not create."""
    yield from not_applicable_if_simulated(subject, "it runs on this machine")
    if subject.graph is None:
        yield unknown("the stack does not create the cluster", "plan.spec.cluster")


def _reached(subject: Subject, _: ClusterObjects) -> Iterator[Observation]:
    yield from _unmanaged_cluster(subject)
    if subject.graph is None:
        return
    cluster = subject.plan.spec.cluster
    public = cluster.endpoint.public if cluster else ()
    wrong = "the Kubernetes API has a public endpoint" if public else ""
    yield observe("plan.spec.cluster.endpoint.public", ", ".join(public) or "none", wrong)
    for each in _of(subject, "aws:ec2/launchTemplate:LaunchTemplate"):
        tokens = at(each, "metadataOptions", "httpTokens")
        wrong = "" if tokens == "required" else "IMDSv1 is enabled"
        yield observe(f"{_NODES}: httpTokens", tokens, wrong)
    for each in _of(subject, "gcp:container/nodePool:NodePool"):
        mode = at(each, "nodeConfig", "workloadMetadataConfig", "mode")
        wrong = "" if mode == "GKE_METADATA" else "pods can use the node's credentials"
        yield observe(f"node pool {each['name']}: metadata", mode, wrong)
    for each in _of(subject, "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule"):
        wide = [each.get(key) for key in ("cidrIpv4", "cidrIpv6")]
        if any(cidr in _ANYWHERE for cidr in wide):
            yield failing("security group of nodes", wide, "it allows ingress from anywhere")


def _encrypted(subject: Subject, _: ClusterObjects) -> Iterator[Observation]:
    yield from _unmanaged_cluster(subject)
    for each in _of(subject, "aws:eks/cluster:Cluster"):
        of = listed(each, "encryptionConfig", "resources")
        wrong = "" if "secrets" in of else "secrets are not encrypted with a key"
        yield observe("EKS cluster: encryptionConfig", ", ".join(of) or "none", wrong)
    for each in _of(subject, "gcp:container/cluster:Cluster"):
        state = at(each, "databaseEncryption", "state")
        wrong = "" if state == "ENCRYPTED" else "secrets are not encrypted with a key"
        yield observe("GKE cluster: databaseEncryption", state or "none", wrong)


# ── what runs ─────────────────────────────────────────────────────────────────────────────────────
def _images(subject: Subject, _: ClusterObjects) -> Iterator[Observation]:
    yield from not_applicable_if_simulated(subject, "they pull no images")
    yield from subject.found("software.vulnerable")
    result = pulled_images(subject.plan)
    by_tag = [image.repository.rpartition("/")[2] for image in result if not image.digest]
    wrong = f"{len(by_tag)} by tag only, such as {by_tag[0]}" if by_tag else ""
    yield observe("images of the stack", len(result), wrong)


def _images_there(_: Subject, cluster: ClusterObjects) -> Iterator[Observation]:
    pods = [pod for pod in cluster.all("Pod") if space_of(pod) != KUBE_SYSTEM]
    for pod in pods:
        names = [str(at(c, "image")) for c in listed(pod, "spec", "containers")]
        loose = [name for name in names if "@sha256:" not in name]
        if loose:
            yield failing(place_of(pod), ", ".join(loose), "the tag may resolve to another image")
    yield passing("pods", f"{len(pods)} inspected")


def _rules_of_ones_own(subject: Subject, cluster: ClusterObjects) -> Iterator[Observation]:
    pods = cluster.all("Pod")
    for pod in pods:
        paths = [str(at(v, "hostPath", "path")) for v in listed(pod, "spec", "volumes")]
        devices = [path for path in paths if _DEVICES.search(path)]
        if devices and space_of(pod) not in {KUBE_SYSTEM, operator_namespace(subject.plan)}:
            yield failing(
                place_of(pod),
                ", ".join(devices),
                "it accesses devices without device plugin and runtime",
            )
    yield passing("pods", f"{len(pods)} inspected")


PLANNED: Mapping[str, ClusterCheck] = {
    "SEC-01": _pod_security,
    "SEC-02": _walls_planned,
    "SEC-04": _canary,
    "SEC-05": _turns,
    "SEC-06": _reached,
    "SEC-07": _encrypted,
    "SEC-08": _images,
}
LIVE: Mapping[str, ClusterCheck] = {
    "SEC-01": _pod_security,
    "SEC-02": _walls_stand,
    "SEC-03": _refused,
    "SEC-08": _images_there,
    "SEC-09": _rules_of_ones_own,
}
