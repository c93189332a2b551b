"""Existing nodes of your own cluster, selected by their labels."""

import re
from collections.abc import Iterator, Sequence

from gpuyard.plan.draft import Draft
from gpuyard.provider import provider_of
from gpuyard.spec.platform import Cloud, PlatformSpec
from gpuyard.spec.pools import Pool, Scaling
from gpuyard.spec.sections import Apply, FabricKind
from gpuyard_core.catalogue.fabric import direct_fabric, nvlink_gpus
from gpuyard_core.catalogue.kubernetes.api import (
    LABEL,
    LABEL_PREFIX,
    LONGEST_LABEL,
    LONGEST_LABEL_PREFIX,
)
from gpuyard_core.catalogue.machines import Machine
from gpuyard_core.findings import Diagnostic, Fix, Path, Severity, error, info
from gpuyard_core.names import (
    FABRIC_LABEL,
    NVLINK_GPUS_LABEL,
    NVLINK_LABEL,
    POOL_LABEL,
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
            suggestion = _near_name(value)
            yield error(
                "pool.label_value",
                where,
                "not a valid Kubernetes label value",
                given=value,
                allowed=GRAMMAR,
                fix=Fix.write(suggestion, where) if suggestion else Fix.remove(where),
            )


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
        fix=Fix.remove(where),
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
        else Fix.remove(where),
    )


def node_selector(pool: Pool) -> dict[str, str]:
    """The labels that identify the pool's nodes: those of `select`, else gpuyard's."""
    return dict(sorted(pool.select.items())) or {POOL_LABEL: pool.stable_name}


def labels_nodes(spec: PlatformSpec, pool: Pool) -> bool:
    """Whether the pool's nodes exist already, so that gpuyard labels them."""
    return bool(pool.select) and spec.cloud is Cloud.NONE


def check_own_nodes(spec: PlatformSpec, pool: Pool, path: Path) -> Iterator[Diagnostic]:
    """`select` and `fabric` are for your own nodes: in a cloud, the pool and the machine type decide."""
    if pool.select and spec.cloud is not Cloud.NONE:
        yield error(
            "pool.select_cloud",
            (*path, "select"),
            f"`select` is for existing nodes, but on {spec.cloud.value} the pool creates its nodes",
            allowed="select with cloud: none",
            fix=Fix(message="remove `select`", at=(*path, "select")),
        )
    elif pool.select and pool.scaling is not None and pool.scaling is not Scaling.FIXED:
        yield error(
            "pool.select_scaling",
            (*path, "scaling"),
            "selected nodes exist already: no autoscaler can add any",
            given=pool.scaling.value,
            allowed="scaling: fixed, or none",
            fix=Fix.write("fixed", (*path, "scaling")),
        )
    elif pool.select and pool.sharing.needs_sharing_config:
        yield info(
            "pool.select_labels",
            (*path, "select"),
            "you must add the labels that `gpuyard plan -v` lists to these nodes, or their GPUs are not"
            " shared: manifests cannot label existing nodes"
            if spec.apply is Apply.RENDER
            else "`pulumi up` finds these nodes with kubectl and adds the labels that `gpuyard plan -v`"
            " lists: their GPUs are shared from then on",
        )
    yield from _check_fabric(spec, pool, path)


def _check_fabric(spec: PlatformSpec, pool: Pool, path: Path) -> Iterator[Diagnostic]:
    fabric, here = pool.fabric, (*path, "fabric")
    if fabric is None:
        return
    if provider_of(spec.cloud).sells_machines:
        yield error(
            "pool.fabric_cloud",
            here,
            f"on {spec.cloud.value} the machine type determines the fabric",
            given=fabric.kind.value,
            allowed="fabric on your own cluster only",
            fix=Fix(message="remove `fabric`", at=here),
        )
    elif fabric.kind is FabricKind.ETHERNET and fabric.hcas:
        yield error(
            "pool.fabric_adapters",
            (*here, "hcas"),
            "plain Ethernet uses the host's TCP and no RDMA adapters",
            given=", ".join(fabric.hcas),
            allowed="hcas with infiniband or roce",
            fix=Fix(message="remove `hcas`", at=(*here, "hcas")),
        )
    elif twice := sorted({h for h in fabric.hcas if fabric.hcas.count(h) > 1}):
        once = list(dict.fromkeys(fabric.hcas))
        yield error(
            "pool.fabric_adapters",
            (*here, "hcas"),
            f"adapters are listed twice: {', '.join(twice)}",
            given=", ".join(fabric.hcas),
            allowed="each adapter once",
            fix=Fix(message=f"write {', '.join(once)}", at=(*here, "hcas"), value=once),
        )
    elif fabric.kind is not FabricKind.ETHERNET and not fabric.hcas:
        yield info(
            "pool.fabric_adapters",
            here,
            "without `hcas`, NCCL uses every adapter, including those that are not near a GPU",
            given=fabric.kind.value,
        )


def check_selectors(draft: Draft) -> Iterator[Diagnostic]:
    """No node is in two pools: a node that has the labels of two selectors would be in both."""
    spec = draft.spec
    chosen = [(i, p) for i, p in enumerate(spec.pools) if p.select and spec.cloud is Cloud.NONE]
    for place, (number, pool) in enumerate(chosen):
        # a label has one value: no node matches two selectors with different values of it
        others = (
            other
            for _, other in chosen[:place]
            if all(pool.select.get(key, value) == value for key, value in other.select.items())
        )
        if (other := next(others, None)) is None:
            continue
        mine, theirs = pool.select.items(), other.select.items()
        inner, outer = (pool, other) if mine >= theirs else (other, pool)
        nested = mine >= theirs or theirs >= mine
        problem = f"every node of {inner.name} is also one of {outer.name}: its GPUs would be counted twice"
        both = f"a node with the labels of both {other.name} and {pool.name} would be counted twice"
        yield Diagnostic(
            "pool.select_overlap",
            ("pools", number, "select"),
            problem if nested else both,
            severity=Severity.ERROR if nested else Severity.WARNING,
            given=", ".join(f"{key}={value}" for key, value in mine),
            allowed="a label with another value in each pool",
        )
