"""Rules on state: protection and secrets."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from gpuyard_core.admission.bypass import RUNTIME
from gpuyard_core.findings import Path, Severity
from gpuyard_core.manifests.fields import items, mapping, text
from gpuyard_core.manifests.placeholders import is_placeholder
from gpuyard_lint.rules.rule import Parameters, Resource, Violation, load_rule
from gpuyard_lint.rules.subjects.pods import POD_KINDS, is_gpu_pod, pods_of

# GPU-STA-01
CLUSTERS = ("aws:eks/Cluster", "gcp:container/Cluster")
STORES = ("aws:s3/Bucket", "aws:s3/BucketV2", "gcp:storage/Bucket")
_KUSTOMIZED = tuple(f"kustomize.config.k8s.io/{kind}" for kind in ("Kustomization", "Component"))
_CHECKPOINTS = re.compile(r"checkpoint|ckpt|weights|models?([-_]|$)", re.IGNORECASE)
_SECRET = re.compile(
    r"(^|[_.-])(password|passwd|secret|token|api[_-]?key|access[_-]?key|private[_-]?key)s?$",
    re.IGNORECASE,
)
_ABOUT_MODELS = re.compile(
    r"gpu|nvidia|cuda|model|hf_|hugging|wandb|ngc|train|infer", re.IGNORECASE
)
"""ConfigMaps about GPUs or models. Secrets in others are equally bad, but other linters find them."""
_PLAIN = re.compile(r"[A-Za-z0-9+/=_.:-]{12,}")
_HINTS = ("example", "dummy")
_SPENT = re.compile(r"claim-[\w-]+")
"""A claim code of Plex, valid once and for four minutes."""
_WORDS = re.compile(r"[a-z]+(?:-[a-z]+)+")
_REFERENCE = re.compile(
    r"""
    (?!https?:)[a-z][a-z0-9+.-]*://  # op://vault/item, azurekeyvault://…, sm://…; a web hook is a secret
    |(?:secret)?ref\+
    |(?:ssm|awssm|aws|gcp|azure|akv|vault|arn|secretsmanager|secretmanager|keyvault|doppler|bao):
    |file:/
    |env:\w+$
    |projects/[^/]+/secrets/
    |/(?:etc|mnt|run|var|vault|secrets?|opt|home|root|tmp)/  # a file with the secret in it
    """,
    re.VERBOSE | re.IGNORECASE,
)
"""References that injectors and secret-store clients accept instead of a secret."""


def _check(resource: Resource, _: Parameters) -> Iterator[Violation]:
    kind, properties = resource.group_kind, resource.properties
    bucket = text(properties, "bucket") or text(properties, "name") if kind in STORES else ""
    if kind in CLUSTERS or (kind in STORES and _CHECKPOINTS.search(bucket or resource.name)):
        yield from _unprotected(resource)
    elif kind == "ConfigMap":
        data = mapping(resource.properties, "data")
        if _ABOUT_MODELS.search(f"{resource.name} {data}"):
            yield from _in_mapping(data, ("data",))
    elif kind in _KUSTOMIZED:
        yield from _in_generators(resource)
    elif kind.startswith("values:"):
        yield from _in_values(resource.properties, ())
    else:
        yield from _in_environment(resource)


def _unprotected(resource: Resource) -> Iterator[Violation]:
    field = resource.properties.get("deletionProtection")
    if resource.protected is True or field is True:
        return
    if resource.protected is None and field is not False:
        return  # a file that cannot express protection
    yield Violation(
        ("deletionProtection",) if field is False else (),
        f"one wrong update deletes {resource.name} with its content",
        "set ResourceOptions(protect=True), and deletionProtection where available",
        # an explicit false is deliberate, and any other protection is unknown
        severity=Severity.INFO if resource.protected is None else None,
        is_advisory=resource.protected is None,
    )


def _in_mapping(results: Mapping[str, Any], path: Path) -> Iterator[Violation]:
    for key, value in results.items():
        if _SECRET.search(key) and _is_secret(value):
            yield _written((*path, key))


def _in_generators(resource: Resource) -> Iterator[Violation]:
    """ConfigMaps that a kustomization generates from lines such as `HF_TOKEN=hf_…`."""
    for g, each in enumerate(items(resource.properties, "configMapGenerator")):
        generator = mapping(each)
        if not _ABOUT_MODELS.search(f"{generator.get('name')} {generator.get('literals')}"):
            continue
        for index, line in enumerate(items(generator, "literals")):
            key, _, value = text(line).partition("=")
            if _SECRET.search(key) and _is_secret(value.strip("\"'")):
                yield _written(("configMapGenerator", g, "literals", index))


def _in_values(value: Any, path: Path) -> Iterator[Violation]:
    if isinstance(value, Mapping):
        yield from _in_mapping(value, path)
        for key, each in value.items():
            yield from _in_values(each, (*path, key))
    elif isinstance(value, list):
        for index, each in enumerate(value):
            yield from _in_values(each, (*path, index))


def _in_environment(resource: Resource) -> Iterator[Violation]:
    for pod in pods_of(resource):
        if not (is_gpu_pod(pod) or text(pod.spec, "runtimeClassName").startswith(RUNTIME)):
            continue
        for path, container in pod.containers():
            for index, variable in enumerate(items(container, "env")):
                value = mapping(variable)
                if _SECRET.search(text(value, "name")) and _is_secret(value.get("value")):
                    yield _written((*path, "env", index, "value"))


def _is_secret(value: Any) -> bool:
    """Long enough and not a reference; an unknown value usually comes from a secret store."""
    if not isinstance(value, str) or not _PLAIN.fullmatch(value):
        return False
    # lowercase words with dashes, such as the name of a Secret or of a key in one
    return not (
        is_placeholder(value)
        or any(hint in value.lower() for hint in _HINTS)
        or (_WORDS.fullmatch(value) is not None)
        or _SPENT.fullmatch(value)
        or _REFERENCE.match(value)
    )


def _written(path: Path) -> Violation:
    return Violation(
        path,
        "a secret in plain text: anyone who can read the file, the cluster or the state can use it",
        "move it to a Secret or a secret store, and reference it",
    )


RULES = (
    load_rule(
        "GPU-STA-01",
        kinds=(
            *(*CLUSTERS, *STORES, "ConfigMap", *_KUSTOMIZED),
            *("values:gpu-operator", "values:kueue", *POD_KINDS),
        ),
        check=_check,
    ),
)
