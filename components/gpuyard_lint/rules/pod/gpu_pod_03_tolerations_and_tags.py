"""GPU-POD-03: GPU pods tolerate taints by key and run pinned images."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from gpuyard_core.admission.images import is_allowed_image, normalized_prefix
from gpuyard_core.admission.placement import EVERY_TAINT
from gpuyard_core.findings import Path, Severity
from gpuyard_core.manifests.moving_tags import is_moving_tag
from gpuyard_core.manifests.placeholders import is_no_image, repository_of
from gpuyard_lint.rules.rule import (
    AuditReference,
    ContextEffect,
    Parameters,
    Resource,
    Rule,
    Stack,
    Violation,
    at,
    items,
    mapping,
    number,
    text,
)
from gpuyard_lint.rules.subjects.claims import claims_only_other_devices
from gpuyard_lint.rules.subjects.component_images import image_at
from gpuyard_lint.rules.subjects.installed_versions import IMAGES
from gpuyard_lint.rules.subjects.pods import (
    GPU_PREFIXES,
    POD_KINDS,
    SYSTEM_NAMESPACES,
    Pod,
    is_fabric_daemon,
    is_gpu_pod,
    pod_at,
    pods_of,
)

_DIGEST = re.compile(r"@sha256:[0-9a-f]{64}$")


_UTILITY_IMAGES = frozenset(
    {
        *("busybox", "alpine", "ubuntu", "debian", "bash", "curl", "pause", "sleep"),
        *("hello-world", "helloworld", "helloworld-go", "whalesay"),
    }
)
"""Utility images of which every version does the same."""

_OFFICIAL = _UTILITY_IMAGES | frozenset(
    {
        *("amazonlinux", "archlinux", "fedora", "rockylinux", "buildpack-deps", "gcc", "julia"),
        *("python", "pypy", "r-base", "golang", "rust", "node", "ruby", "perl", "php", "openjdk"),
        *("eclipse-temurin", "nginx", "httpd", "haproxy", "caddy", "traefik", "redis", "memcached"),
        *("postgres", "mysql", "mariadb", "mongo", "influxdb", "elasticsearch", "neo4j", "solr"),
        *(
            "rabbitmq",
            "nats",
            "eclipse-mosquitto",
            "zookeeper",
            "spark",
            "flink",
            "docker",
            "registry",
        ),
        *(
            "telegraf",
            "fluentd",
            "logstash",
            "kibana",
            "sonarqube",
            "nextcloud",
            "wordpress",
            "ros",
        ),
    }
)
"""Names without an owner in Docker's registry; any other such name was built or loaded on the node."""

_OF_NETWORKS = frozenset(
    {"tailscale", "gluetun", "cloudflared", "envoy", "proxyv2", "oauth2-proxy"}
)
"""Sidecars that carry the workload's traffic: they do not use the GPUs."""


_FIRST = "initContainers"


def _check(resource: Resource, parameters: Parameters) -> Iterator[Violation]:
    if resource.namespace in parameters["namespaces"] or resource.kind.endswith("/DaemonSet"):
        return  # node agents run on every node by design
    for pod in pods_of(resource):
        if is_gpu_pod(pod):  # also with a limit of 0, which overlays raise
            yield from () if is_fabric_daemon(pod) else _tolerations(pod)
            yield from _images(resource, pod, parameters)


def _tolerations(pod: Pod) -> Iterator[Violation]:
    for index, toleration in enumerate(items(pod.spec.get("tolerations"))):
        value = mapping(toleration)
        if text(value.get("operator")) == "Exists" and not text(value.get("key")):
            yield EVERY_TAINT.fill_in(pod.field_path("tolerations", index))


def _images(resource: Resource, pod: Pod, parameters: Parameters) -> Iterator[Violation]:
    places = tuple(normalized_prefix(each) for each in parameters["allowed_images"])
    # init containers are not the workload
    some_have = any(_has_gpus(each) for path, each in pod.containers() if _FIRST not in path)
    for path, container in pod.containers():
        image, where = text(container.get("image")), image_at(resource, path)
        unknown = is_no_image(image)
        if not image or (unknown and not _only_the_registry_is(image)):
            continue  # a placeholder
        if places and not unknown and not is_allowed_image(image, places):
            problem = f"{image} is not from an allowed registry"
            yield Violation(where, problem, f"use one of {', '.join(places)}")
        if _DIGEST.search(image) or not is_moving_tag(image):
            continue
        if _runs_beside(resource, where, container):
            yield Violation(
                where,
                f"{image} is a moving tag: {_then(resource)}",
                "pin the image by digest: name:tag@sha256:…",
                is_advisory=_is_built_here(image, container)
                or (some_have and not _has_gpus(container)),
            )


def _context_effect(stack: Stack, resource: Resource, path: Path) -> ContextEffect:
    """A tag that a command in the input sets at each apply, or loads onto the nodes, does not move."""
    pod = pod_at(resource, path)
    if pod is not None and claims_only_other_devices(stack, pod):
        return ContextEffect.CHOICE
    if path[-1:] != ("image",):
        return ContextEffect.FULL
    container = mapping(at(resource.properties, *path[:-1]))
    name = repository_of(text(container.get("image"))).removeprefix("docker.io/")
    mine = [[resource.name, each] for each in ("*", text(container.get("name")))]
    overrides = [each.properties for each in stack.resources_of_kinds(IMAGES)]
    by_name = any(name in items(each.get("names")) for each in overrides)
    by_container = any(pair in items(each.get("containers")) for each in overrides for pair in mine)
    return ContextEffect.CHOICE if by_name or by_container else ContextEffect.FULL


def _has_gpus(container: Mapping[str, Any]) -> bool:
    """Whether the container requests GPUs."""
    resources = mapping(container.get("resources"))
    resource_requests = {**mapping(resources.get("requests")), **mapping(resources.get("limits"))}
    counted = (
        number(n) for name, n in resource_requests.items() if str(name).startswith(GPU_PREFIXES)
    )
    return any(n != 0 for n in counted) or bool(resources.get("claims"))


def _is_built_here(image: str, container: Mapping[str, Any]) -> bool:
    """Whether nodes have the image locally, under a name that no registry has: only its owner changes it."""
    uses_local_image = text(container.get("imagePullPolicy")) == "IfNotPresent"
    return uses_local_image and "/" not in image and image.partition(":")[0] not in _OFFICIAL


def _only_the_registry_is(image: str) -> bool:
    """For example `<registry>/server:latest`: the tag moves in any registry."""
    registry, _, name = image.rpartition("/")
    return bool(registry) and name.endswith(":latest") and not is_no_image(name)


def _runs_beside(resource: Resource, where: Path, container: Mapping[str, Any]) -> bool:
    """Whether it is the workload: not an init container, nor a template that only selects nodes by size."""
    first = _FIRST in where and text(container.get("restartPolicy")) != "Always"
    image = text(container.get("image"))
    name = image.rpartition("/")[2].partition(":")[0]
    # an image that no registry has was built on the node: it has no digest to pin
    own = text(container.get("imagePullPolicy")) == "Never" or image.startswith("localhost/")
    known = name in _UTILITY_IMAGES | _OF_NETWORKS
    return not (first or own or known) and resource.group_kind != "PodTemplate"


def _then(resource: Resource) -> str:
    """The effect: pods of one job, or of one service, start at different times."""
    if resource.group_kind == "Pod":
        return "the same manifest can run different code later"
    return "a pod that starts later can run different code than the others"


RULE = Rule(
    id="GPU-POD-03",
    title="A GPU workload tolerates taints by key and runs a pinned image",
    severity=Severity.WARNING,
    why="A wildcard toleration ignores the taints of all pools; a moving tag runs two versions in one gang.",
    fix="Name the taints to tolerate; pin images, preferably by digest; use allowed registries.",
    sources=(
        "Kubernetes documentation, taints and tolerations: an empty key with Exists matches all",
    ),
    references=(AuditReference("CIS EKS 1.8.0", "5.1.4"),),
    kinds=POD_KINDS,
    parameters={
        "namespaces": SYSTEM_NAMESPACES,
        "allowed_images": (),
    },
    check=_check,
    adjust=_context_effect,
)
