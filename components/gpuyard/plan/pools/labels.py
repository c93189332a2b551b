"""Labels of a pool: what Kubernetes accepts, and which labels are reserved."""

import re
from collections.abc import Iterator, Sequence

from gpuyard.provider import provider_of
from gpuyard.spec.pools import Pool
from gpuyard_core.catalogue.fabric import direct_fabric, nvlink_gpus
from gpuyard_core.catalogue.kubernetes.api import (
    LABEL,
    LABEL_PREFIX,
    LONGEST_LABEL,
    LONGEST_LABEL_PREFIX,
)
from gpuyard_core.catalogue.machines import Machine
from gpuyard_core.findings import Diagnostic, Fix, Path, error
from gpuyard_core.names import (
    FABRIC_LABEL,
    NVLINK_GPUS_LABEL,
    NVLINK_LABEL,
    RESERVED_LABEL_DOMAINS,
)

GRAMMAR = (
    "letters, digits, dashes, dots and underscores, with a letter or digit at both ends,"
    f" at most {LONGEST_LABEL}"
)


def check_labels(cloud: str, pool: Pool, path: Path) -> Iterator[Diagnostic]:
    """Labels that the kubelet would reject, and labels of reserved domains."""
    theirs = provider_of(cloud).label_domains
    for key, value in pool.labels.items():
        where = (*path, "labels", key)
        domain, _, name = key.rpartition("/")
        if _within(domain, RESERVED_LABEL_DOMAINS):
            yield _reserved(domain, "Kubernetes, NVIDIA or this platform", key, where)
        elif _within(domain, theirs):
            yield _reserved(domain, f"{cloud}, which rejects nodes that set them", key, where)
        if not is_name(name) or ((domain or "/" in key) and not _is_prefix(domain)):
            yield _bad_key(pool, key, where)
        if not is_name(value):
            yield _bad_value(value, where)


def hardware_labels(pool: Pool, machines: Sequence[Machine]) -> dict[str, str]:
    """Labels for NVLink and the network fabric that apply to every machine of the pool."""
    first, *others = (_hardware(pool, machine) for machine in machines)
    return {key: value for key, value in first if all((key, value) in labels for labels in others)}


def _hardware(pool: Pool, machine: Machine) -> list[tuple[str, str]]:
    direct, gpus = direct_fabric(machine), nvlink_gpus(machine)
    fabric = pool.fabric.kind.value if pool.fabric else direct.name.lower() if direct else ""
    generation = machine.gpu.nvlink_generation if machine.gpu and machine.gpus > 1 else None
    results = {FABRIC_LABEL: fabric, NVLINK_LABEL: generation, NVLINK_GPUS_LABEL: gpus}
    return [(key, str(value)) for key, value in results.items() if value]


def _within(domain: str, domains: tuple[str, ...]) -> bool:
    return any(domain == d or domain.endswith(f".{d}") for d in domains)


def is_name(text: str) -> bool:
    """Whether a text can be the value of a label, or the name in its key."""
    return len(text) <= LONGEST_LABEL and LABEL.fullmatch(text) is not None


def _is_prefix(text: str) -> bool:
    return len(text) <= LONGEST_LABEL_PREFIX and LABEL_PREFIX.fullmatch(text) is not None


def _near_name(text: str) -> str:
    """The text with a dash for each invalid part; "" if nothing is left."""
    return re.sub(r"[^-A-Za-z0-9_.]+", "-", text).strip("-_.")[:LONGEST_LABEL].strip("-_.")


def _reserved(domain: str, owner: str, key: str, where: Path) -> Diagnostic:
    return error(
        "pool.label_reserved",
        where,
        f"labels of {domain} are set by {owner}",
        given=key,
        allowed="labels of your own domain, or without a domain",
        fix=Fix(message="remove it", at=where),
    )


def _bad_key(pool: Pool, key: str, where: Path) -> Diagnostic:
    domain, _, name = key.rpartition("/")
    prefix = f"{domain.lower()}/" if _is_prefix(domain.lower()) else ""
    suggestion = prefix + _near_name(name)
    renamed = {suggestion if k == key else k: v for k, v in pool.labels.items()}
    usable = suggestion != prefix and suggestion not in pool.labels
    return error(
        "pool.label_key",
        where,
        "not a valid Kubernetes label key",
        given=key,
        allowed=f"NAME or DOMAIN/NAME; a name has {GRAMMAR}",
        fix=Fix(message=f"write {suggestion}", at=where[:-1], value=renamed)
        if usable
        else Fix(message="remove it", at=where),
    )


def _bad_value(value: str, where: Path) -> Diagnostic:
    suggestion = _near_name(value)
    return error(
        "pool.label_value",
        where,
        "not a valid Kubernetes label value",
        given=value,
        allowed=GRAMMAR,
        fix=Fix(message=f"write {suggestion}", at=where, value=suggestion)
        if suggestion
        else Fix(message="remove it", at=where),
    )
