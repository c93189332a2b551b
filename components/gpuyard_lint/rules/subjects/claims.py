"""Device claims (DRA) and their devices: a pod references claims in other objects."""

import re
from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from glob import escape
from typing import Any

from gpuyard_core.manifests.fields import mapping, mappings, text
from gpuyard_core.manifests.pods import Pod
from gpuyard_lint.rules.rule import NotEvaluatedError, Resource, Stack, once_per_stack

_TEMPLATE = "resource.k8s.io/ResourceClaimTemplate"
_CLAIM = "resource.k8s.io/ResourceClaim"
_NAMES: Mapping[str, str] = {_TEMPLATE: "resourceClaimTemplateName", _CLAIM: "resourceClaimName"}
"""By kind: the field in which a pod references one."""
_OTHERS = re.compile(r"(?:^|\.)(?:intel|amd|google|habana|amazonaws|furiosa)\.", re.IGNORECASE)
_FILLED_IN = re.compile(r"\$\{[^{}]*\}")


def claims_only_other_devices(stack: Stack, pod: Pod) -> bool:
    """Whether a pod requests no GPU, and all its claims in the input are for devices of other vendors.

    Names may contain a placeholder, such as `${APP}-gpu` with Flux: every possible match counts.
    """
    try:
        if any(pod.gpus().values()):
            return False
        claimed = mappings(pod.spec, "resourceClaims")
        classes = [
            each
            for kind, field in _NAMES.items()
            for name in {text(claim.get(field)) for claim in claimed}
            if name
            for resource in _meant(stack, kind, name)
            for each in _classes(resource)
        ]
    except NotEvaluatedError:
        return False
    return bool(classes) and all(map(_OTHERS.search, classes))


def _meant(stack: Stack, kind: str, name: str) -> Iterator[Resource]:
    yield from stack.resources_named(name, kind)
    for resource in _filled_in(stack, kind):
        if resource.name != name and fnmatchcase(
            name, "?*".join(map(escape, _FILLED_IN.split(resource.name)))
        ):
            yield resource


@once_per_stack
def _filled_in(stack: Stack, kind: str) -> list[Resource]:
    return [each for each in stack.resources_of_kinds(kind) if "${" in each.name]


def _classes(resource: Resource) -> Iterator[str]:
    steps = ("spec", "spec") if resource.group_kind == _TEMPLATE else ("spec",)
    for request in mappings(mapping(resource.properties, *steps), "devices", "requests"):
        ways: list[Mapping[Any, Any]] = [request, mapping(request, "exactly")]
        ways += mappings(request, "firstAvailable")
        yield from filter(None, (text(each, "deviceClassName") for each in ways))
