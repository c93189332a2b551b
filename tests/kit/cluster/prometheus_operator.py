"""A real Prometheus Operator beside the simulated cluster, and the configuration that it generates.

Prometheus and Alertmanager run with this configuration. What it takes from a cluster is replaced: targets, because
the API server accepts no endpoint on this machine, and paths of mounted files.
"""

import base64
import gzip
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml
from testbed.controllers import install_kinds

from gpuyard.plan.records import PlatformPlan
from gpuyard.render.observability.monitoring import monitoring_values
from gpuyard_simulate.api import Api
from gpuyard_simulate.definitions import read_manifests
from kit.cluster.lab import Value, apply, delete, path_of, wait
from kit.levels import require_level
from testbed import monitoring

NAME = "platform"
"""Of Prometheus and Alertmanager; another file of tests has its own, whose Secrets are collected late."""
_NAMESPACE = "monitoring"


def require_operator() -> None:
    """Skip, or fail where it is required, without the program and its CRDs."""
    program = monitoring.TOOLS / "prometheus-operator"
    found = os.access(program, os.X_OK) and _definitions()
    require_level("cluster", found, f"no {program}; `scripts/tools prometheus-operator` builds it")


def _definitions() -> list[Value]:
    return read_manifests(monitoring.TOOLS.parent / "share" / "prometheus-operator" / "crds")


@contextmanager
def operator(api: Api, kubeconfig: Path, folder: Path) -> Iterator[None]:
    """The operator with its CRDs.

    At its start it looks for each of its kinds, and never watches one that does not exist yet.
    """
    install_kinds(api, _definitions())
    address = f"127.0.0.1:{monitoring.free_port()}"
    program = monitoring.TOOLS / "prometheus-operator"
    command = [program, f"--web.listen-address={address}", "--kubelet-endpoints=false"]
    environment = {"KUBECONFIG": str(kubeconfig)}
    with monitoring.running(folder, command, f"http://{address}", "/healthz", environment):
        yield


# ── the objects of the chart ──────────────────────────────────────────────────────────────────────
def chart_objects(plan: PlatformPlan) -> list[Value]:
    """What kube-prometheus-stack makes of our values: Prometheus, Alertmanager, a monitor of kube-state-metrics.

    Selectors that the values leave empty select everything (chart 87, templates/prometheus/prometheus.yaml and
    templates/alertmanager/alertmanager.yaml).
    """
    assert plan.observability is not None
    values = monitoring_values(plan, plan.observability)
    prometheus = _spec(values["prometheus"]["prometheusSpec"])
    prometheus["storage"] = prometheus.pop("storageSpec")
    kinds = ("rule", "serviceMonitor", "podMonitor", "probe", "scrapeConfig")
    prometheus |= {f"{kind}NamespaceSelector": {} for kind in kinds}
    endpoint = {"namespace": _NAMESPACE, "name": f"{NAME}-alertmanager", "port": "http-web"}
    prometheus |= {
        "serviceAccountName": "default",
        "version": "v3.9.0",
        "alerting": {"alertmanagers": [{**endpoint, "apiVersion": "v2"}]},
    }
    routing = _spec(
        {"alertmanagerConfigSelector": {}, **values["alertmanager"]["alertmanagerSpec"]}
    )
    state = values["kube-state-metrics"]["prometheus"]["monitor"]["additionalLabels"]
    monitor = {
        "selector": {"matchLabels": {"app.kubernetes.io/name": "kube-state-metrics"}},
        "endpoints": [{"port": "http", "honorLabels": True}],
    }
    volume = prometheus["storage"]["volumeClaimTemplate"]["spec"]
    return [
        {
            "apiVersion": "storage.k8s.io/v1",
            "kind": "StorageClass",  # of the cloud; the operator refuses one that does not exist
            "metadata": {"name": volume.setdefault("storageClassName", "default")},
            "provisioner": "kubernetes.io/no-provisioner",
        },
        _custom("Prometheus", NAME, prometheus, {}),
        _custom("Alertmanager", NAME, {"replicas": 1, "version": "v0.28.1", **routing}, {}),
        _custom("ServiceMonitor", "kube-state-metrics", monitor, state),
    ]


def _spec(values: Mapping[str, Any]) -> Value:
    """A spec of the chart without what only its templates read; its image has parts there."""
    of_chart = {key for key in values if key.endswith("NilUsesHelmValues")} | {"image"}
    return {key: value for key, value in values.items() if key not in of_chart}


def _custom(kind: str, name: str, spec: Value, labels: Mapping[str, str]) -> Value:
    metadata = {"name": name, "namespace": _NAMESPACE, "labels": dict(labels)}
    return {
        "apiVersion": "monitoring.coreos.com/v1",
        "kind": kind,
        "metadata": metadata,
        "spec": spec,
    }


def remove(api: Api, objects: Iterable[Value]) -> None:
    """Delete objects, and wait until the operator has removed its finalizers."""
    paths = [path_of(each) for each in objects]
    for path in paths:
        delete(api, path)
    wait(lambda: not any(api.get(path) for path in paths), "the objects of the operator to be gone")


def secret(api: Api, name: str, namespace: str, **data: str) -> None:
    """Create a Secret."""
    metadata = {"name": name, "namespace": namespace}
    apply(api, {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "stringData": data})


# ── the generated configuration ───────────────────────────────────────────────────────────────────
def generated(api: Api, name: str, key: str) -> Value | None:
    """The configuration in a Secret of the operator; its sidecar replaces $(SHARD)."""
    path = f"/api/v1/namespaces/{_NAMESPACE}/secrets/{name}"
    data = (api.get(path) or {}).get("data") or {}
    if key not in data:
        return None
    text = gzip.decompress(base64.b64decode(data[key])).decode()
    found: Value = yaml.safe_load(text.replace("$(SHARD)", "0"))
    return found


def prometheus_config(api: Api) -> Value:
    """The configuration of Prometheus; empty until it exists."""
    return generated(api, f"prometheus-{NAME}", "prometheus.yaml.gz") or {}


def alertmanager_config(api: Api) -> Value:
    """The configuration of Alertmanager; empty until it exists."""
    return generated(api, f"alertmanager-{NAME}-generated", "alertmanager.yaml.gz") or {}


def rule_groups(api: Api) -> list[Value]:
    """The rule groups that the operator mounts."""
    query = f"?labelSelector=prometheus-name%3D{NAME}"
    found = api.call("GET", f"/api/v1/namespaces/{_NAMESPACE}/configmaps{query}")["items"]
    texts = [text for each in found for text in (each.get("data") or {}).values()]
    return [group for text in texts for group in yaml.safe_load(text)["groups"]]


def job(config: Value, monitor: str) -> Value:
    """The scrape job of a ServiceMonitor: `namespace/name`."""
    name = f"serviceMonitor/{monitor}/0"
    (found,) = [each for each in config["scrape_configs"] if each["job_name"] == name]
    return dict(found)


def with_targets(
    config: Value, targets: Sequence[tuple[str, Mapping[str, str]]], token: Path
) -> Value:
    """A generated scrape job with these targets and their labels of discovery."""
    (discovery,) = config["kubernetes_sd_configs"]
    assert discovery["role"] in {"endpoints", "endpointslice"}
    kept = {key: value for key, value in config.items() if key != "kubernetes_sd_configs"}
    if "bearer_token_file" in kept:
        kept["bearer_token_file"] = str(token)
    statics = [{"targets": [address], "labels": dict(labels)} for address, labels in targets]
    return {**kept, "static_configs": statics}


def service_labels(
    namespace: str, port: str, labels: Mapping[str, str], pod: str, node: str
) -> dict[str, str]:
    """The labels that Kubernetes discovery gives an endpoint of a Service."""
    found = {
        "__meta_kubernetes_namespace": namespace,
        "__meta_kubernetes_service_name": labels.get("app", pod),
        "__meta_kubernetes_pod_name": pod,
        "__meta_kubernetes_pod_node_name": node,
        "__meta_kubernetes_pod_phase": "Running",
        "__meta_kubernetes_pod_ready": "true",
        "__meta_kubernetes_pod_container_name": pod,
    }
    for role in ("endpoint", "endpointslice"):
        found[f"__meta_kubernetes_{role}_port_name"] = port
        found[f"__meta_kubernetes_{role}_address_target_kind"] = "Pod"
        found[f"__meta_kubernetes_{role}_address_target_name"] = pod
    for name, value in labels.items():
        text = name.translate(str.maketrans("./-", "___"))
        found[f"__meta_kubernetes_service_label_{text}"] = value
        found[f"__meta_kubernetes_service_labelpresent_{text}"] = "true"
    return found
