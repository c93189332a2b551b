"""GPU-POD-03: GPU pods go where they are sent, and run what was built."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from gpuyard.admission.images import is_allowed_image, normalized_prefix
from gpuyard.admission.placement import EVERY_TAINT
from gpuyard.findings import Path, Severity
from gpuyard.manifests.moving_tags import is_moving_tag
from gpuyard.manifests.placeholders import is_no_image, repository_of
from gpuyard.rules.rule import (
    ContextEffect,
    Parameters,
    Reference,
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
from gpuyard.rules.subjects.claims import claims_only_other_devices
from gpuyard.rules.subjects.component_images import image_at
from gpuyard.rules.subjects.installed_versions import IMAGES
from gpuyard.rules.subjects.pods import (
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


_ANYBODYS = frozenset(
    {
        *("busybox", "alpine", "ubuntu", "debian", "bash", "curl", "pause", "sleep"),
        *("hello-world", "helloworld", "helloworld-go", "whalesay"),
    }
)
"""Images of which every version does the same for whoever sleeps, copies or says hello by them."""

_OFFICIAL = _ANYBODYS | frozenset(
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
"""Names that Docker's registry has without an owner: any other such name was built or loaded on the node."""

_OF_NETWORKS = frozenset(
    {"tailscale", "gluetun", "cloudflared", "envoy", "proxyv2", "oauth2-proxy"}
)
"""Those that stand beside the work and carry its traffic: of the GPUs' programs they are none."""


_FIRST = "initContainers"


def _check(resource: Resource, parameters: Parameters) -> Iterator[Violation]:
    if resource.namespace in parameters["namespaces"] or resource.kind.endswith("/DaemonSet"):
        return  # node agents run everywhere, that is what they are for
    for pod in pods_of(resource):
        if is_gpu_pod(pod):  # also with a limit of 0, which overlays raise
            yield from () if is_fabric_daemon(pod) else _tolerations(pod)
            yield from _images(resource, pod, parameters)


def _tolerations(pod: Pod) -> Iterator[Violation]:
    for index, toleration in enumerate(items(pod.spec.get("tolerations"))):
        value = mapping(toleration)
        if text(value.get("operator")) == "Exists" and not text(value.get("key")):
            slip = EVERY_TAINT.violation(pod.at("tolerations", index))
            yield Violation(slip.path, slip.problem, slip.fix)


def _images(resource: Resource, pod: Pod, parameters: Parameters) -> Iterator[Violation]:
    places = tuple(normalized_prefix(each) for each in parameters["allowed_images"])
    # what has them before the work begins is not the work
    some_have = any(_has_gpus(each) for path, each in pod.containers() if _FIRST not in path)
    for path, container in pod.containers():
        image, where = text(container.get("image")), image_at(resource, path)
        unknown = is_no_image(image)
        if not image or (unknown and not _only_the_registry_is(image)):
            continue  # somebody fills it in later
        if places and not unknown and not is_allowed_image(image, places):
            problem = f"{image} comes from no allowed registry"
            yield Violation(where, problem, f"use one of {', '.join(places)}")
        if _DIGEST.search(image) or not is_moving_tag(image):
            continue
        if _runs_beside(resource, where, container):
            yield Violation(
                where,
                f"{image} can be another image tomorrow: {_then(resource)}",
                "pin the image by digest, as name:tag@sha256:…",
                is_advisory=_is_built_here(image, container)
                or (some_have and not _has_gpus(container)),
            )


def _context_effect(stack: Stack, resource: Resource, path: Path) -> ContextEffect:
    """A tag that a command in view sets at each apply, or loads onto the nodes, moves for nobody."""
    pod = pod_at(resource, path)
    if pod is not None and claims_only_other_devices(stack, pod):
        return ContextEffect.CHOICE
    if path[-1:] != ("image",):
        return ContextEffect.FULL
    container = mapping(at(resource.properties, *path[:-1]))
    name = repository_of(text(container.get("image"))).removeprefix("docker.io/")
    mine = [[resource.name, each] for each in ("*", text(container.get("name")))]
    overrides = [each.properties for each in stack.of(IMAGES)]
    by_name = any(name in items(each.get("names")) for each in overrides)
    by_container = any(pair in items(each.get("containers")) for each in overrides for pair in mine)
    return ContextEffect.CHOICE if by_name or by_container else ContextEffect.FULL


def _has_gpus(container: Mapping[str, Any]) -> bool:
    """Whether it is one that the pod's GPUs are for, of those that say so."""
    resources = mapping(container.get("resources"))
    resource_requests = {**mapping(resources.get("requests")), **mapping(resources.get("limits"))}
    counted = (
        number(n) for name, n in resource_requests.items() if str(name).startswith(GPU_PREFIXES)
    )
    return any(n != 0 for n in counted) or bool(resources.get("claims"))


def _is_built_here(image: str, container: Mapping[str, Any]) -> bool:
    """Whether nodes have it without asking, under a name that no registry has: its owner moves it."""
    uses_local_image = text(container.get("imagePullPolicy")) == "IfNotPresent"
    return uses_local_image and "/" not in image and image.partition(":")[0] not in _OFFICIAL


def _only_the_registry_is(image: str) -> bool:
    """As of `<registry>/server:latest`: whoever fills that in, the tag moves."""
    registry, _, name = image.rpartition("/")
    return bool(registry) and name.endswith(":latest") and not is_no_image(name)


def _runs_beside(resource: Resource, where: Path, container: Mapping[str, Any]) -> bool:
    """Not what ends before the work begins, nor a template that only asks for nodes of its size."""
    first = _FIRST in where and text(container.get("restartPolicy")) != "Always"
    image = text(container.get("image"))
    name = image.rpartition("/")[2].partition(":")[0]
    # what no registry has is what was built on the node: it has no digest to pin
    own = text(container.get("imagePullPolicy")) == "Never" or image.startswith("localhost/")
    known = name in _ANYBODYS | _OF_NETWORKS
    return not (first or own or known) and resource.group_kind != "PodTemplate"


def _then(resource: Resource) -> str:
    """What that means to it: pods of one job, or of one service, start at different times."""
    if resource.group_kind == "Pod":
        return "the same manifest then runs other code"
    return "a pod that starts later runs other code than those beside it"


RULE = Rule(
    id="GPU-POD-03",
    title="A GPU workload tolerates taints by key and runs a pinned image",
    severity=Severity.WARNING,
    why="A wildcard toleration defeats every fence between pools; a moving tag gives one gang two programs.",
    fix="Name the taints to tolerate; pin images, best by digest; keep to the allowed registries.",
    sources=(
        "Kubernetes documentation, taints and tolerations: an empty key with Exists matches all",
    ),
    references=(Reference("CIS EKS 1.8.0", "5.1.4"),),
    kinds=POD_KINDS,
    parameters={
        "namespaces": SYSTEM_NAMESPACES,
        "allowed_images": (),
    },
    check=_check,
    adjust=_context_effect,
)
