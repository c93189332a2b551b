"""Existing resources of a stack file: a cluster that accepts the plan's nodes, and a usable key."""

from collections.abc import Iterator, Mapping
from typing import Any

from gpuyard.plan.cluster.ranges import cluster_spec
from gpuyard.preflight.probes import NOT_FOUND, ProbeAnswer, ProbeResult, at, probe_result
from gpuyard.preflight.quota_requirements import PlannedAccount
from gpuyard_core.findings import Diagnostic, Fix, Path, error, warning

KEY = "key"
_CLUSTER: Path = ("cluster", "existing")
_KEY: Path = ("cluster", "key")
_MINORS: Path = ("kubernetes",)
_OLDEST = 3
"""Maximum number of minors that a kubelet may be behind its control plane."""
_POOL = "gcp:container/nodePool:NodePool"


# ── a cluster ─────────────────────────────────────────────────────────────────────────────────────
def eks_incompatibility(ahead: PlannedAccount, cluster: Mapping[str, Any]) -> Iterator[Diagnostic]:
    """Nodes may not be newer than their control plane, and at most three minors older."""
    plan, runs = ahead.plan, str(cluster.get("version", ""))
    behind = _minor(runs) - _minor(plan.kubernetes)
    if runs and not 0 <= behind <= _OLDEST:
        what = "newer than its control plane" if behind < 0 else f"{behind} minors older than it"
        yield error(
            "live.version",
            _MINORS,
            f"cluster {cluster_spec(plan.spec).existing} runs Kubernetes {runs}: EKS does not accept nodes {what}",
            given=plan.kubernetes,
            allowed=f"{runs}, or up to {_OLDEST} minors before it",
            fix=Fix(message=f'write kubernetes: "{runs}", or upgrade the cluster first'),
        )


def gke_incompatibility(ahead: PlannedAccount, cluster: Mapping[str, Any]) -> Iterator[Diagnostic]:
    """A cluster of another minor, an Autopilot cluster, or one without a required feature."""
    plan, name = ahead.plan, cluster_spec(ahead.plan.spec).existing
    runs = ".".join(str(cluster.get("currentMasterVersion", "")).split(".")[:2])
    if runs and runs != plan.kubernetes:
        yield warning(
            "live.version",
            _MINORS,
            f"cluster {name} runs Kubernetes {runs}, and so do its nodes: the plan was validated for another version",
            given=plan.kubernetes,
            allowed=runs,
            fix=Fix(message=f'write kubernetes: "{runs}"'),
        )
    for problem, allowed, fix in _lacking(ahead, cluster):
        yield error(
            "live.cluster",
            _CLUSTER,
            f"cluster {name} {problem}",
            given=str(name),
            allowed=allowed,
            fix=Fix(message=fix),
        )


def _lacking(ahead: PlannedAccount, cluster: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Missing feature, required feature, and fix."""
    pools = [each.inputs for each in ahead.graph.resources if each.kind == _POOL]
    if at(cluster, "autopilot", "enabled") is True:
        yield (
            "is an Autopilot cluster, which accepts no node pools",
            "a Standard cluster",
            "use another cluster",
        )
        return
    networks = [each for each in pools if at(each, "networkConfig", "additionalNodeNetworkConfigs")]
    if networks and at(cluster, "networkConfig", "enableMultiNetworking") is not True:
        yield (
            "has no multi-networking, which the fabric needs",
            "a cluster created with multi-networking: it cannot be enabled later",
            "use another cluster, or remove `existing`",
        )
    if not at(cluster, "workloadIdentityConfig", "workloadPool"):
        yield (
            "has no Workload Identity, which pods on the pools' nodes need",
            "a cluster with a workload pool",
            f"gcloud container clusters update {cluster.get('name')} --workload-pool=PROJECT.svc.id.goog",
        )


def _minor(version: str) -> int:
    """`1.36` as 36."""
    part = version.split(".")[1:2]
    return int(part[0]) if part and part[0].isdigit() else 0


# ── a key ─────────────────────────────────────────────────────────────────────────────────────────
def kms_findings(ahead: PlannedAccount, answer: ProbeAnswer) -> ProbeResult | None:
    """A KMS key must exist, be enabled, and be symmetric."""
    key = str(cluster_spec(ahead.plan.spec).key)
    about = at(answer.value, "KeyMetadata")
    if answer.error.startswith("NotFound"):
        return _key(key, "does not exist")
    state, spec = at(about, "KeyState"), at(about, "KeySpec")
    if not isinstance(state, str):
        return None
    if state != "Enabled":
        return _key(key, f"is {state}")
    if spec not in {None, "SYMMETRIC_DEFAULT"}:
        return _key(key, f"has the key spec {spec}, and secrets need a symmetric key")
    return probe_result(said=f"key {key} exists and is enabled")


def cloud_kms_findings(ahead: PlannedAccount, answer: ProbeAnswer) -> ProbeResult | None:
    """A Cloud KMS key must exist with a version that encrypts."""
    key = str(cluster_spec(ahead.plan.spec).key)
    if answer.error == NOT_FOUND:
        return _key(key, "does not exist")
    purpose, state = at(answer.value, "purpose"), at(answer.value, "primary", "state")
    if not isinstance(purpose, str):
        return None
    if purpose != "ENCRYPT_DECRYPT":
        return _key(key, f"has the purpose {purpose}, and secrets need ENCRYPT_DECRYPT")
    if state != "ENABLED":
        return _key(key, f"has no enabled primary version ({state or 'none'})")
    return probe_result(said=f"key {key} exists and is enabled")


def _key(key: str, problem: str) -> ProbeResult:
    fix = Fix(message="use an enabled key, or remove `key`: gpuyard then creates one")
    return probe_result(error("live.key", _KEY, f"the key {problem}", given=key, fix=fix))
