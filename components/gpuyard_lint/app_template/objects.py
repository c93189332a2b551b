"""The objects that app-template creates from its values, as far as rules check them: pods and services.

    controllers: {serve: {containers: {app: {image: {repository: vllm, tag: latest}, resources: {…}}}}}

is a Deployment. Each part has the location of its value. Values that are merged over others, or that
may be enabled later, give no objects: an uncertain object gives no finding. Based on the chart of
bjw-s-labs/helm-charts, its library in the versions 2.6.0, 3.7.3 and 4.1.1.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from gpuyard_core.findings import Path
from gpuyard_core.manifests.fields import NotEvaluatedError, PartlyKnown, mapping
from gpuyard_lint.app_template.containers import containers
from gpuyard_lint.app_template.options import enabled_parts, pod_options
from gpuyard_lint.app_template.volumes import volumes
from gpuyard_lint.items import Item
from gpuyard_lint.kubernetes import resource

APP_VALUES = "values:app-template"
_TEMPLATE: Path = ("spec", "template")
_KINDS: Mapping[str, tuple[str, str, Path]] = {
    "deployment": ("apps/v1", "Deployment", _TEMPLATE),
    "statefulset": ("apps/v1", "StatefulSet", _TEMPLATE),
    "daemonset": ("apps/v1", "DaemonSet", _TEMPLATE),
    "job": ("batch/v1", "Job", _TEMPLATE),
    "cronjob": ("batch/v1", "CronJob", ("spec", "jobTemplate", *_TEMPLATE)),
}
"""By the type of a controller: apiVersion, kind, and the path of its pods."""
_OF_PODS = (
    *("affinity", "hostIPC", "hostNetwork", "hostPID", "nodeSelector", "priorityClassName"),
    *("resourceClaims", "resources", "restartPolicy", "runtimeClassName", "schedulerName"),
    *("securityContext", "tolerations", "topologySpreadConstraints"),
)
_OF_SERVICES = ("loadBalancerClass", "loadBalancerIP", "loadBalancerSourceRanges", "type")
_CONTROLLER = "app.kubernetes.io/controller"


@dataclass(frozen=True, slots=True)
class ChartRelease:
    """The name and namespace of a release of the chart; "" if unknown."""

    name: str = ""
    namespace: str = ""


def app_template_objects(item: Item, release: ChartRelease) -> Iterator[Item]:
    """The objects from values of the chart; none from other values, or from partly known ones."""
    values = item.resource.properties
    if item.resource.kind != APP_VALUES or not _is_whole(values):
        return
    try:
        results = [*_rendered_objects(values, release)]
    except NotEvaluatedError:
        return
    for manifest, places in results:
        place = replace(item.place, values_paths=places, pulumi_name=None, to_document_name=None)
        yield Item(resource(manifest, item.resource.source), place)


def _is_whole(value: Any) -> bool:
    if isinstance(value, PartlyKnown):
        return False
    below = value.values() if isinstance(value, Mapping) else value
    return not isinstance(value, Mapping | list) or all(map(_is_whole, below))


def _rendered_objects(
    values: Mapping[str, Any], release: ChartRelease
) -> Iterator[tuple[dict[str, Any], dict[Path, Path]]]:
    controllers = enabled_parts(values.get("controllers"))
    for name, value in controllers.items():
        kind = _KINDS.get(str(value.get("type") or "deployment"))
        if kind is not None:
            called = _called(values, release, name, len(controllers))
            yield _workload(values, name, kind, {"name": called, **_in(release)})
    services = enabled_parts(values.get("service"))
    alone = next(iter(controllers)) if len(controllers) == 1 else ""
    for name, value in services.items():
        called = _called(values, release, name, len(services))
        metadata = {"name": called, **_in(release), **_labelled(value)}
        own: Path = ("service", name)
        service = _service(value, metadata, value.get("controller") or alone)
        yield service, dict.fromkeys(((), ("metadata",), ("spec",)), own)


def _in(release: ChartRelease) -> dict[str, str]:
    return {"namespace": release.namespace} if release.namespace else {}


def _labelled(options: Mapping[str, Any]) -> dict[str, Any]:
    return {key: options[key] for key in ("labels", "annotations") if options.get(key)}


def _called(values: Mapping[str, Any], release: ChartRelease, name: str, many: int) -> str:
    """The name of the release; with several objects of one kind also their own."""
    override = mapping(values, "global").get("fullnameOverride") or values.get("fullnameOverride")
    base_name = override if isinstance(override, str) else release.name or name
    return base_name if many == 1 or f"-{base_name}".endswith(f"-{name}") else f"{base_name}-{name}"


def _workload(
    values: Mapping[str, Any], name: str, kind: tuple[str, str, Path], metadata: dict[str, Any]
) -> tuple[dict[str, Any], dict[Path, Path]]:
    version, sort, template = kind
    own = ("controllers", name)
    value = mapping(values, *own)
    at = (*template, "spec")
    pods = (template, (*template, "metadata"), at)
    places: dict[Path, Path] = {
        **dict.fromkeys(((), ("metadata",), ("spec",)), own),
        **dict.fromkeys(pods, (*own, "pod")),
    }
    options = pod_options(values, name)
    spec: dict[str, Any] = {}
    for key in _OF_PODS:
        if key in options:
            spec[key], places[*at, key] = options[key]
    for field in ("initContainers", "containers"):
        places[*at, field] = (*own, field)
        spec[field] = [*containers(values, name, field, (*at, field), places)]
    places[*at, "volumes"] = ("persistence",)
    spec["volumes"] = volumes(values, name, (*at, "volumes"), places)
    labels = {_CONTROLLER: name, **options["labels"][0]}
    pod: Any = {
        "metadata": {"labels": labels, "annotations": options["annotations"][0]},
        "spec": spec,
    }
    for key in ("labels", "annotations"):
        places[*template, "metadata", key] = options[key][1]
    for step in reversed(template[1:]):
        pod = {step: pod}
    replica_fields = {"replicas": value.get("replicas", 1), "selector": {"matchLabels": labels}}
    outer = {**pod, **(replica_fields if version == "apps/v1" else {})}
    manifest = {"apiVersion": version, "kind": sort, "metadata": {**metadata, **_labelled(value)}}
    return {**manifest, "spec": outer}, places


def _service(
    options: Mapping[str, Any], metadata: dict[str, Any], controller: Any
) -> dict[str, Any]:
    ports = [
        {"name": name, **{key: port[key] for key in ("port", "targetPort") if port.get(key)}}
        for name, port in enabled_parts(options.get("ports")).items()
    ]
    fields = {key: options[key] for key in _OF_SERVICES if options.get(key)}
    spec = {**fields, "ports": ports, "selector": {_CONTROLLER: controller}}
    return {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": spec}
