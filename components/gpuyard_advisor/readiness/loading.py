"""Whether prometheus-operator loads the monitors, rules and receivers of the stack.

It ignores what no selector matches, without a status or an event. What it rejects has an event for an hour, and a
status only with the feature gate StatusForConfigurationResources (prometheus-operator v0.85 to v0.93,
pkg/prometheus/resource_selector.go, pkg/operator/rules.go, pkg/alertmanager/operator.go).
"""

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gpuyard_advisor.readiness.evidence import Observation, failing, format_some, passing
from gpuyard_advisor.readiness.inputs import (
    ClusterObjects,
    K8sObject,
    Subject,
    at,
    label,
    listed,
    mapping,
    missing_object,
    name_of,
    place_of,
    planned_objects,
    space_of,
)

_RULES_OF = "prometheus-name"
"""The label of the operator's ConfigMaps with rules: the Prometheus that evaluates them."""
_UNMATCHED = "OnNamespace"
_PLATFORM_ONLY = "OnNamespaceExceptForAlertmanagerNamespace"


@dataclass(frozen=True, slots=True)
class _Loader:
    """Which kinds of the operator load a kind, and the first word of their selectors."""

    kinds: tuple[str, ...]
    field: str


_LOADERS: Mapping[str, _Loader] = {
    "ServiceMonitor": _Loader(("Prometheus", "PrometheusAgent"), "serviceMonitor"),
    "PodMonitor": _Loader(("Prometheus", "PrometheusAgent"), "podMonitor"),
    "PrometheusRule": _Loader(("Prometheus", "ThanosRuler"), "rule"),
    "AlertmanagerConfig": _Loader(("Alertmanager",), "alertmanagerConfig"),
}


def loaded(
    subject: Subject, cluster: ClusterObjects, kind: str, only: Container[str] | None = None
) -> Iterator[Observation]:
    """Whether the operator loads each planned object of a kind, or `only` those with these names."""
    for where, live in planned_objects(subject, cluster, kind):
        if only is not None and where not in only:
            continue
        if live is None:
            yield missing_object(where)
        elif kind not in _LOADERS:
            yield from _configured(live)
        else:
            yield from _loaded(subject, cluster, live)


def _loaded(subject: Subject, cluster: ClusterObjects, live: K8sObject) -> Iterator[Observation]:
    loader = _LOADERS[live["kind"]]
    loaders = [each for kind in loader.kinds for each in cluster.all(kind)]
    misses = [_miss(each, loader.field, live, cluster) for each in loaders]
    chosen = [each for each, miss in zip(loaders, misses, strict=True) if miss is None]
    if chosen:
        yield from _accepted(cluster, live, chosen)
        return
    why = f"the cluster has no {' or '.join(loader.kinds)} object"
    found = [each for each in misses if each]
    if found:
        observed = subject.plan.observability
        installs = observed is not None and observed.installs
        fix = "Deploy the stack again" if installs else found[0].fix
        why = f"{format_some([each.reason for each in found])}. {fix}"
    yield failing(place_of(live), "not selected", why)


def _configured(live: K8sObject) -> Iterator[Observation]:
    """Whether the managed Prometheus of Google Cloud uses an object; it has no selectors.

    Targets are in the status if OperatorConfig enables it (prometheus-engine, pkg/operator/apis/monitoring/v1).
    """
    where = place_of(live)
    rejections = [
        f"the managed Prometheus rejects it: {at(each, 'message')}"
        for each in listed(live, "status", "conditions")
        if (at(each, "type"), at(each, "status")) == ("ConfigurationCreateSuccess", "False")
    ]
    down = [
        f"{at(each, 'unhealthyTargets')} of {at(each, 'activeTargets')} targets are down"
        for each in listed(live, "status", "endpointStatuses")
        if at(each, "unhealthyTargets")
    ]
    for problem in (*rejections, *down):
        yield failing(where, "not used", problem)
    if not rejections and not down:
        yield passing(where, "used by the managed Prometheus")


# ── selectors ─────────────────────────────────────────────────────────────────────────────────────
@dataclass(frozen=True, slots=True)
class _Miss:
    """Why a Prometheus or Alertmanager does not select an object, and the change with which it does."""

    reason: str
    fix: str


def _miss(loader: K8sObject, field: str, live: K8sObject, cluster: ClusterObjects) -> _Miss | None:
    """The selector that misses the object; one that is not set selects nothing."""
    if _is_global(loader, live):
        return None
    name, where = f"{field}Selector", place_of(loader)
    selector = at(loader, "spec", name)
    if selector is None:
        write = f"Write {name}: {{}} in {where}"
        return _Miss(f"{name} of {where} is not set and selects nothing", write)
    lacking = ", ".join(_unmet(selector, at(live, "metadata", "labels")))
    if lacking:
        write = f"Write observability.labels: {{{lacking}}}"
        return _Miss(f"{name} of {where} requires {lacking}", write)
    return _miss_of_namespace(loader, f"{field}NamespaceSelector", space_of(live), cluster)


def _miss_of_namespace(
    loader: K8sObject, name: str, space: str, cluster: ClusterObjects
) -> _Miss | None:
    """The selector of namespaces that misses one; one that is not set selects the loader's own."""
    where, spaces = place_of(loader), at(loader, "spec", name)
    if spaces is None and space != space_of(loader):
        write = f"Write observability.namespace: {space_of(loader)}"
        return _Miss(f"{where} selects only objects of its own namespace", write)
    labels = [at(n, "metadata", "labels") for n in cluster.all("Namespace") if name_of(n) == space]
    lacking = ", ".join(_unmet(spaces, next(iter(labels), None)))
    if not lacking:
        return None
    return _Miss(f"{name} of {where} requires {lacking}", f"Label namespace {space} so")


def _is_global(loader: K8sObject, live: K8sObject) -> bool:
    """Whether the object is the global configuration of an Alertmanager, which needs no selector."""
    named = at(loader, "spec", "alertmanagerConfiguration", "name")
    return (
        live["kind"] == "AlertmanagerConfig"
        and named == name_of(live)
        and space_of(loader) == space_of(live)
    )


def _unmet(selector: Any, labels: Any) -> list[str]:
    """The requirements of a label selector that the labels do not meet."""
    pairs = mapping(at(selector, "matchLabels")).items()
    some = listed(selector, "matchExpressions")
    return [
        *(f"{key}: {value}" for key, value in pairs if at(labels, key) != value),
        *(_requirement(each) for each in some if not _meets(each, labels)),
    ]


def _meets(requirement: Any, labels: Any) -> bool:
    value, values = at(labels, at(requirement, "key")), listed(requirement, "values")
    match at(requirement, "operator"):
        case "In":
            return value in values
        case "NotIn":
            return value not in values
        case "Exists":
            return value is not None
        case _:
            return value is None


def _requirement(requirement: Any) -> str:
    """A label that meets it, as a field; without one the requirement."""
    key, values = at(requirement, "key"), [*map(str, listed(requirement, "values"))]
    match at(requirement, "operator"):
        case "In":
            return f"{key}: {''.join(values[:1])}"
        case "Exists":
            return f'{key}: ""'
        case "NotIn":
            return f"no {key}: {' or '.join(values)}"
        case _:
            return f"no {key}"


# ── what the operator does with a selected object ─────────────────────────────────────────────────
def _accepted(
    cluster: ClusterObjects, live: K8sObject, loaders: Sequence[K8sObject]
) -> Iterator[Observation]:
    """Problems of the object, and of each loader unless another one has none."""
    judge = _JUDGES[live["kind"]]
    each_has = [[*_troubles(each), *judge(cluster, live, each)] for each in loaders]
    problems = [*_rejections(cluster, live)]
    if all(each_has):
        problems += [problem for some in each_has for problem in some]
    for problem in dict.fromkeys(problems):
        yield failing(place_of(live), "selected", problem)
    if not problems:
        names = format_some([place_of(each) for each in loaders])
        yield passing(place_of(live), f"selected by {names}")


def _rejections(cluster: ClusterObjects, live: K8sObject) -> Iterator[str]:
    """Messages of the operator about the object as it is now."""
    for binding in listed(live, "status", "bindings"):
        for each in listed(binding, "conditions"):
            if at(each, "type") == "Accepted" and at(each, "status") == "False":
                yield f"the operator rejects it: {at(each, 'message')}"
    changed = _last_change(live)
    for event in cluster.all("Event"):
        if at(event, "involvedObject", "uid") != at(live, "metadata", "uid"):
            continue
        seen = _time_of(event)
        if seen >= changed:
            yield f"the operator rejects it, at {seen}: {at(event, 'message')}"


def _last_change(live: K8sObject) -> str:
    """The last write of the object without its status; "" without managed fields."""
    fields = listed(live, "metadata", "managedFields")
    return max((str(at(f, "time")) for f in fields if not at(f, "subresource")), default="")


def _time_of(event: K8sObject) -> str:
    """When an event was last seen; a second has no fraction, as in managed fields."""
    last = (
        at(event, "series", "lastObservedTime")
        or at(event, "lastTimestamp")
        or at(event, "eventTime")
    )
    return str(last)[:19] + "Z"


def _troubles(loader: K8sObject) -> Iterator[str]:
    """Why an operator does not bring its Prometheus or Alertmanager up to date."""
    if at(loader, "spec", "paused"):
        yield f"{place_of(loader)} is paused: the operator does not change its configuration"
    for each in listed(loader, "status", "conditions"):
        if at(each, "status") == "False":
            message = at(each, "message") or at(each, "reason") or "no message"
            yield f"{place_of(loader)} is not {at(each, 'type')}: {message}"


def _enforced(live: K8sObject, loader: K8sObject) -> Iterator[str]:
    """The operator writes the object's namespace into its series and queries (pkg/namespacelabeler)."""
    name, resource = at(loader, "spec", "enforcedNamespaceLabel"), f"{live['kind'].lower()}s"
    excluded = any(
        (at(each, "resource"), at(each, "namespace")) == (resource, space_of(live))
        and at(each, "name") in {None, "", name_of(live)}
        for each in listed(loader, "spec", "excludedFromEnforcement")
    )
    if name and not excluded:
        reference = f"{{resource: {resource}, namespace: {space_of(live)}}}"
        yield (
            f"{place_of(loader)} has enforcedNamespaceLabel, which replaces the label {name} of"
            f" workloads. Write excludedFromEnforcement: [{reference}]"
        )


def _unscraped(_: ClusterObjects, live: K8sObject, loader: K8sObject) -> Iterator[str]:
    yield from _enforced(live, loader)
    where, space = place_of(loader), space_of(live)
    elsewhere = listed(live, "spec", "namespaceSelector", "matchNames")
    if at(loader, "spec", "ignoreNamespaceSelectors") and elsewhere != [space]:
        yield (
            f"{where} has ignoreNamespaceSelectors: it finds no targets outside {space}."
            " Remove the field"
        )
    files = [at(end, "bearerTokenFile") for end in listed(live, "spec", "endpoints")]
    if at(loader, "spec", "arbitraryFSAccessThroughSMs", "deny") and any(files):
        yield (
            f"{where} denies arbitraryFSAccessThroughSMs, and the monitor reads a token from a file"
        )


def _unevaluated(cluster: ClusterObjects, live: K8sObject, loader: K8sObject) -> Iterator[str]:
    """The operator writes the rules of a Prometheus into ConfigMaps, and leaves out what it rejects."""
    yield from _enforced(live, loader)
    if loader["kind"] != "Prometheus":
        return
    uid = at(live, "metadata", "uid")
    files = [
        key
        for each in cluster.all("RuleFile")
        if label(each, _RULES_OF) == name_of(loader) and space_of(each) == space_of(loader)
        for key in mapping(at(each, "data"))
    ]
    if f"{space_of(live)}-{name_of(live)}-{uid}.yaml" not in files:
        yield f"the operator leaves it out of the rules of {place_of(loader)}"


def _unmatched(_: ClusterObjects, live: K8sObject, loader: K8sObject) -> Iterator[str]:
    """The operator adds its namespace to the routes of an AlertmanagerConfig, except of the global one."""
    strategy = at(loader, "spec", "alertmanagerConfigMatcherStrategy", "type") or _UNMATCHED
    same = space_of(loader) == space_of(live)
    if strategy == "None" or (strategy == _PLATFORM_ONLY and same) or _is_global(loader, live):
        return
    write = _PLATFORM_ONLY if same else "None"
    yield (
        f"{place_of(loader)} sends it only alerts with namespace: {space_of(live)}, and alerts of"
        f" workloads have theirs. Write alertmanagerConfigMatcherStrategy: {{type: {write}}}"
    )


_JUDGES = {
    "ServiceMonitor": _unscraped,
    "PodMonitor": _unscraped,
    "PrometheusRule": _unevaluated,
    "AlertmanagerConfig": _unmatched,
}
