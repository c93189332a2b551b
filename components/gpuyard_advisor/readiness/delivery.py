"""What receivers and dashboards need beside the operator: Secrets, and the sidecar of Grafana."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from gpuyard.render.observability.dashboards import DASHBOARD_LABEL
from gpuyard_advisor.readiness.evidence import (
    Observation,
    failing,
    format_some,
    observe,
    passing,
    unknown,
)
from gpuyard_advisor.readiness.inputs import (
    ClusterObjects,
    K8sObject,
    Subject,
    at,
    label,
    listed,
    missing_object,
    name_of,
    place_of,
    planned_objects,
    space_of,
)


def receiver_secrets(subject: Subject) -> dict[str, list[str]]:
    """The Secrets that planned receivers name, by namespace."""
    named: dict[str, set[str]] = {}
    for each in subject.rendered.all("AlertmanagerConfig"):
        named.setdefault(space_of(each), set()).update(_secrets_in(at(each, "spec", "receivers")))
    return {space: sorted(names) for space, names in sorted(named.items()) if names}


def _secrets_in(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        if value.keys() == {"name", "key"}:
            yield str(value["name"])
        value = list(value.values())
    if isinstance(value, list | tuple):
        for each in value:
            yield from _secrets_in(each)


def secrets_exist(subject: Subject, cluster: ClusterObjects) -> Iterator[Observation]:
    """Whether each Secret of a receiver exists; without one the operator rejects all receivers."""
    secrets = receiver_secrets(subject) if cluster.was_asked("Secret") else {}
    for space, names in secrets.items():
        exist = {name_of(each) for each in cluster.all("Secret") if space_of(each) == space}
        for name in names:
            found = name in exist
            wrong = "" if found else "a receiver names it, and it does not exist"
            yield observe(f"Secret {space}/{name}", "exists" if found else "none", wrong)


def dashboards_loaded(subject: Subject, cluster: ClusterObjects) -> Iterator[Observation]:
    """Whether a sidecar of Grafana selects each planned dashboard."""
    sidecars = [*_sidecars(cluster)]
    planned = subject.rendered.all("ConfigMap")
    ours = {place_of(each) for each in planned if label(each, DASHBOARD_LABEL)}
    for where, live in planned_objects(subject, cluster, "ConfigMap"):
        if where not in ours:
            continue
        if live is None:
            yield missing_object(where)
        elif not sidecars:
            yield unknown("no sidecar of Grafana runs: whether Grafana has it is unknown", where)
        elif any(each.selects(live) for each in sidecars):
            yield passing(where, "selected by the sidecar of Grafana")
        else:
            wanted = format_some([each.wanted for each in sidecars])
            yield failing(where, "not selected", f"the sidecar of Grafana selects {wanted}")


@dataclass(frozen=True, slots=True)
class _Sidecar:
    """kiwigrid/k8s-sidecar beside Grafana, by the variables of its README."""

    key: str
    value: str
    namespaces: tuple[str, ...]

    def selects(self, live: K8sObject) -> bool:
        """Whether it loads a ConfigMap."""
        found = label(live, self.key)
        fits = found == self.value if self.value else bool(found)
        return fits and ("ALL" in self.namespaces or space_of(live) in self.namespaces)

    @property
    def wanted(self) -> str:
        """What it selects."""
        value = f"{self.key}: {self.value}" if self.value else self.key
        return f"the label {value} in namespace {', '.join(self.namespaces)}"


def _sidecars(cluster: ClusterObjects) -> Iterator[_Sidecar]:
    """The sidecars for dashboards; others load data sources and alerts."""
    for pod in cluster.all("Pod"):
        for each in listed(pod, "spec", "containers"):
            env = {str(at(v, "name")): str(at(v, "value") or "") for v in listed(each, "env")}
            about = f"{at(each, 'name')} {env.get('LABEL')} {env.get('FOLDER')}"
            if {"LABEL", "FOLDER"} <= env.keys() and "dashboard" in about:
                namespaces = (env.get("NAMESPACE") or space_of(pod)).split(",")
                yield _Sidecar(env["LABEL"], env.get("LABEL_VALUE", ""), tuple(namespaces))
