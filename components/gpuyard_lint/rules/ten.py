"""Rules on tenants and their namespaces."""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import replace
from typing import Any

from gpuyard_core.findings import Path, Severity
from gpuyard_core.manifests.fields import at, items, known_value, mapping, number, text
from gpuyard_core.names import TEAM_LABEL
from gpuyard_lint.rules.rule import Parameters, Resource, Stack, Violation, load_rule
from gpuyard_lint.rules.subjects.tenants import CLUSTER_QUEUE as QUEUE
from gpuyard_lint.rules.subjects.tenants import (
    LOCAL_QUEUE,
    can_match_gpu,
    covers_gpus,
    gpu_tenants,
    platform_namespaces,
    resource_groups,
)

# GPU-TEN-01
_LABEL = "pod-security.kubernetes.io/enforce"
_PATH = ("metadata", "labels", _LABEL)
_OF_OPENSHIFT = ("openshift.io/", "opendatahub.io/")
_ENOUGH = frozenset({"restricted", "baseline"})
_POLICY = "admissionregistration.k8s.io/ValidatingAdmissionPolicy"
_KYVERNO = ("kyverno.io/ClusterPolicy", "policies.kyverno.io/ValidatingPolicy")
_GATEKEEPER = "constraints.gatekeeper.sh/K8sPSP"
_PRIVILEGES = re.compile(r"privilege[ds]|allowPrivilegeEscalation|podSecurity\b", re.IGNORECASE)
_SOME = re.compile(r"['\"](?:namespaceSelector|namespaces)['\"]: [{\[]")
_AUDIT = re.compile(
    r"['\"](?:validationFailureAction|failureAction)['\"]: ['\"]audit", re.IGNORECASE
)


def _check_pod_security(stack: Stack, _: Parameters) -> Iterator[Violation]:
    tenants = gpu_tenants(stack) - set(_restricted_namespaces(stack))
    by_policy = _is_policed(stack)
    for namespace in stack.resources_of_kinds("Namespace"):
        name = text(at(namespace.properties, "metadata", "name"))
        level = text(mapping(at(namespace.properties, "metadata", "labels")).get(_LABEL))
        if name in tenants and level not in _ENOUGH and (level or not _on_openshift(namespace)):
            value = f"`{level}`" if level else "no Pod Security level"
            ours = TEAM_LABEL in mapping(at(namespace.properties, "metadata", "labels"))
            if by_policy and not level and not ours:
                continue
            yield Violation(
                _PATH,
                f"{name} enforces {value}: a privileged pod reaches every GPU of its node",
                f"label it {_LABEL}: restricted",
                namespace,
                # without a label, a policy engine or a default of the API server may still restrict pods
                None if level or ours else Severity.WARNING,
            )


def _restricted_namespaces(stack: Stack) -> Iterator[str]:
    """Namespaces that have a level in one of their manifests: two with one name are the same."""
    for namespace in stack.resources_of_kinds("Namespace"):
        metadata = mapping(at(namespace.properties, "metadata"))
        if text(mapping(metadata, "labels").get(_LABEL)) in _ENOUGH:
            yield text(metadata, "name")


def _is_policed(stack: Stack) -> bool:
    """Whether a policy in the input rejects privileged pods in every namespace."""
    constraints = (kind for kind in stack.by_kind if kind.startswith(_GATEKEEPER))
    policies = [
        *stack.resources_of_kinds(*_KYVERNO, *constraints),
        *filter(_is_bound(stack), stack.resources_of_kinds(_POLICY)),
    ]
    specs = (str(policy.properties.get("spec")) for policy in policies)
    return any(
        (_PRIVILEGES.search(spec) or policy.group_kind.startswith(_GATEKEEPER))
        and not _SOME.search(spec)
        and not _AUDIT.search(spec)
        for policy, spec in zip(policies, specs, strict=True)
    )


def _is_bound(stack: Stack) -> Callable[[Resource], bool]:
    """Whether a ValidatingAdmissionPolicy is bound with Deny."""
    bound = {
        text(at(each.properties, "spec", "policyName"))
        for each in stack.resources_of_kinds(f"{_POLICY}Binding")
        if "Deny" in items(at(each.properties, "spec", "validationActions"))
        and not at(each.properties, "spec", "matchResources")
    }
    return lambda policy: policy.name in bound


def _on_openshift(namespace: Resource) -> bool:
    """Whether constraints apply to every pod, and namespace labels follow from them."""
    metadata = mapping(at(namespace.properties, "metadata"))
    words = [*mapping(metadata, "labels"), *mapping(metadata, "annotations")]
    return any(each in str(word) for word in words for each in _OF_OPENSHIFT)


def _remediate(properties: Mapping[str, Any]) -> Mapping[str, Any]:
    metadata = mapping(properties, "metadata")
    labels = {**mapping(metadata, "labels"), _LABEL: "restricted"}
    return {**properties, "metadata": {**metadata, "labels": labels}}


# GPU-TEN-02
_VENDOR = "nvidia.com/"
_OF_HAMI = frozenset(
    f"limits.{_VENDOR}{part}" for part in ("gpumem", "gpumem-percentage", "gpucores")
)
"""GPU shares of HAMi: only its scheduler reads and counts these keys."""


def _check_quota_keys(resource: Resource, _: Parameters) -> Iterator[Violation]:
    hard = mapping(resource.properties, "spec", "hard")
    for key in hard:
        if key.startswith((_VENDOR, f"limits.{_VENDOR}")) and key not in _OF_HAMI:
            name = key.removeprefix("limits.")
            bound = f"requests.{name}" in hard
            yield Violation(
                ("spec", "hard", key),
                f"`{key}` limits nothing: for extended resources a quota supports only `requests.`",
                "remove it" if bound else f"write requests.{name}",
                severity=Severity.WARNING if bound else None,
            )


# GPU-TEN-03
POLICY = "networking.k8s.io/NetworkPolicy"
_DNS = 53
_OUTSIDE = frozenset({80, 443})


def _check_network_policies(stack: Stack, _: Parameters) -> Iterator[Violation]:
    policies = stack.resources_of_kinds(POLICY)
    mine = gpu_tenants(stack) if policies else set[str]()
    for policy in policies:
        yield from _as_advisory(_inward(policy), policy.namespace, mine)
    for name in sorted({policy.namespace for policy in policies} - {""}):  # "": unknown namespace
        namespace_policies = [policy for policy in policies if policy.namespace == name]
        yield from _as_advisory(_names(namespace_policies), name, mine)
    namespaces = stack.resources_of_kinds("Namespace")
    bare: set[str] = set()
    if namespaces:
        denied = {policy.namespace for policy in policies if _denies(policy)}
        bare = gpu_tenants(stack) - denied - platform_namespaces(stack)
    for namespace in namespaces:
        if namespace.name in bare:
            yield Violation(
                ("metadata", "name"),
                f"no policy denies traffic to {namespace.name} by default: every pod of the cluster reaches it",
                "add a NetworkPolicy with podSelector: {} and both policyTypes",
                namespace,
            )


def _as_advisory(
    violations: Iterator[Violation], name: str, mine: AbstractSet[str]
) -> Iterator[Violation]:
    """A namespace without GPUs in the input is not checked."""
    yield from (replace(each, is_advisory=name not in mine) for each in violations)


def _inward(policy: Resource) -> Iterator[Violation]:
    """Egress rules for HTTP or HTTPS that only select pods of the same namespace."""
    for index, rule in enumerate(items(at(policy.properties, "spec", "egress"))):
        ports = {number(mapping(port).get("port")) for port in items(rule, "ports")}
        peers = [mapping(peer) for peer in items(rule, "to")]
        only_here = [
            peer for peer in peers if set(peer) == {"podSelector"} and not peer["podSelector"]
        ]
        if ports & _OUTSIDE and peers and len(only_here) == len(peers):
            yield Violation(
                ("spec", "egress", index, "to"),
                "an empty podSelector selects every pod of this namespace and nothing outside it",
                "allow outside addresses with ipBlock: {cidr: …}",
                policy,
            )


def _denies(policy: Resource) -> bool:
    spec = mapping(policy.properties, "spec")
    return "podSelector" in spec and not mapping(spec, "podSelector")


def _names(policies: list[Resource]) -> Iterator[Violation]:
    """Denied egress without DNS: pods cannot resolve names."""
    denying = [
        policy
        for policy in policies
        if _denies(policy) and "Egress" in items(at(policy.properties, "spec", "policyTypes"))
    ]
    if denying and not any(_allows_dns(policy) for policy in policies):
        yield Violation(
            ("spec", "egress"),
            "egress is denied, including port 53: pods cannot resolve DNS names",
            "allow UDP and TCP 53 to kube-dns",
            denying[0],
        )


def _allows_dns(policy: Resource) -> bool:
    for rule in items(at(policy.properties, "spec", "egress")):
        ports = items(rule, "ports")
        if not ports or any(number(mapping(port).get("port")) == _DNS for port in ports):
            return True
    return False


# GPU-TEN-04
_FOR_ALL = re.compile(r"shared|common|public|default|burst|best-?effort|(^|-)all(-|$)")
"""Names of queues for all teams."""
_FIX = "select the team's namespace by its label"
_SELECTOR: Path = ("spec", "namespaceSelector")


def _check_queue(queue: Resource, _: Parameters) -> Iterator[Violation]:
    spec = mapping(queue.properties, "spec")
    if _in_cohort(spec):
        yield from _borrowing(queue)
    elif known_value(spec.get("namespaceSelector")) is None and _is_of_gpus(queue):
        yield _shut(queue)


def _check_queues(stack: Stack, _: Parameters) -> Iterator[Violation]:
    yield from _shut_in_cohorts(stack)
    yield from _shut_beside_gpus(stack)
    yield from _wide_open(stack)


def _shut_in_cohorts(stack: Stack) -> Iterator[Violation]:
    """A queue without a LocalQueue exists to lend, if other queues of its cohort are in the input."""
    cohorts = Counter(
        _in_cohort(mapping(each.properties, "spec")) for each in stack.resources_of_kinds(QUEUE)
    )
    queue_names = {
        text(at(queue.properties, "spec", "clusterQueue"))
        for queue in stack.resources_of_kinds(LOCAL_QUEUE)
    }
    for queue in stack.resources_of_kinds(QUEUE):
        spec = mapping(queue.properties, "spec")
        cohort = _in_cohort(spec)
        if (
            not cohort
            or known_value(spec.get("namespaceSelector")) is not None
            or not _is_of_gpus(queue)
        ):
            continue
        if queue.name in queue_names:
            yield _shut(queue)
        elif cohorts[cohort] == 1:
            yield _shut(queue, Severity.WARNING)


def _shut_beside_gpus(stack: Stack) -> Iterator[Violation]:
    """A queue for other resources with a LocalQueue, on a platform that also queues GPUs."""
    queues = stack.resources_of_kinds(QUEUE)
    if not any(map(covers_gpus, queues)):
        return
    queue_names = {
        text(at(queue.properties, "spec", "clusterQueue"))
        for queue in stack.resources_of_kinds(LOCAL_QUEUE)
    }
    selecting = {
        queue.name for queue in queues if known_value(at(queue.properties, *_SELECTOR)) is not None
    }
    shut = queue_names - selecting
    for queue in queues:  # of two manifests of one queue, one with a selector is enough
        if queue.name in shut and not _is_of_gpus(queue):
            yield _shut(queue, Severity.WARNING)


def _is_of_gpus(queue: Resource) -> bool:
    """Whether it covers GPUs, or does not list its resources."""
    return not resource_groups(queue) or covers_gpus(queue)


def _shut(queue: Resource, severity: Severity | None = None) -> Violation:
    problem = "without a namespaceSelector no namespace may submit a job"
    return Violation(_SELECTOR, problem, _FIX, queue, severity=severity)


def _in_cohort(spec: Mapping[str, Any]) -> str:
    return str(known_value(spec.get("cohortName")) or known_value(spec.get("cohort")) or "")


def _wide_open(stack: Stack) -> Iterator[Violation]:
    """If no queue has a selector, the cluster is of one team, or an example; otherwise it may be deliberate."""
    queues = [queue for queue in stack.resources_of_kinds(QUEUE) if covers_gpus(queue)]
    selectors = [at(queue.properties, *_SELECTOR) for queue in queues]
    for queue, selector in (
        zip(queues, selectors, strict=True) if any(map(mapping, selectors)) else ()
    ):
        meant = selector is None or mapping(selector) or _FOR_ALL.search(queue.name)
        if not meant:
            yield Violation(
                _SELECTOR,
                "an empty namespaceSelector lets every namespace use this quota",
                _FIX,
                queue,
                severity=Severity.WARNING,
                is_advisory=True,  # permission to create a LocalQueue decides it as well
            )


def _borrowing(queue: Resource) -> Iterator[Violation]:
    """A queue with a lendingLimit borrows deliberately; one without its own quota exists to borrow."""
    for path in _unlimited(queue):
        yield Violation(
            (*path, "borrowingLimit"),
            "without a borrowingLimit the queue can borrow all idle capacity of its cohort",
            "set borrowingLimit; 0 disables borrowing",
            severity=Severity.WARNING,
            is_advisory=True,  # lending idle quota is the purpose of a cohort
        )


def _unlimited(queue: Resource) -> Iterator[Path]:
    for g, group in enumerate(resource_groups(queue)):
        for f, flavor in enumerate(items(group, "flavors")):
            for r, resource in enumerate(items(flavor, "resources")):
                value = mapping(resource)
                limits = [
                    known_value(value.get(field)) for field in ("borrowingLimit", "lendingLimit")
                ]
                owns = number(value.get("nominalQuota")) != 0
                if owns and can_match_gpu(value.get("name")) and limits == [None, None]:
                    yield ("spec", "resourceGroups", g, "flavors", f, "resources", r)


RULES = (
    load_rule(
        "GPU-TEN-01", kinds=("Namespace",), check_stack=_check_pod_security, remediate=_remediate
    ),
    load_rule("GPU-TEN-02", kinds=("ResourceQuota",), check=_check_quota_keys),
    load_rule("GPU-TEN-03", kinds=(POLICY, "Namespace"), check_stack=_check_network_policies),
    load_rule("GPU-TEN-04", kinds=(QUEUE,), check=_check_queue, check_stack=_check_queues),
)
