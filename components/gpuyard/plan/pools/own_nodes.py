"""Nodes that exist already: found by labels of their own, on a cluster of your own."""

from gpuyard.findings import Finding, Fix, Path, error, info, warning
from gpuyard.names import POOL_LABEL
from gpuyard.plan.draft import Draft
from gpuyard.spec.platform import Cloud, PlatformSpec
from gpuyard.spec.pools import Pool, Scaling
from gpuyard.spec.sections import Apply, FabricKind


def node_selector(pool: Pool) -> dict[str, str]:
    """The labels that tell the pool's nodes: those you select by, else ours."""
    return dict(sorted(pool.select.items())) or {POOL_LABEL: pool.stable_name}


def labels_nodes(spec: PlatformSpec, pool: Pool) -> bool:
    """Whether the pool's nodes exist already, and get its labels from us."""
    return bool(pool.select) and spec.cloud is Cloud.NONE


def check_own_nodes(spec: PlatformSpec, pool: Pool, path: Path) -> list[Finding]:
    """Nodes are selected, and a fabric is declared, where nobody else says it."""
    findings: list[Finding] = []
    if pool.select and spec.cloud is not Cloud.NONE:
        findings.append(
            error(
                "pool.select_cloud",
                (*path, "select"),
                f"nodes that exist already are selected; on {spec.cloud.value} the pool makes its nodes",
                allowed="select with cloud: none",
                fix=Fix(message="remove `select`", at=(*path, "select")),
            )
        )
    elif pool.select and pool.scaling is not None and pool.scaling is not Scaling.FIXED:
        findings.append(
            error(
                "pool.select_scaling",
                (*path, "scaling"),
                "nodes that are selected exist already: nobody adds any",
                value=pool.scaling.value,
                allowed="scaling: fixed, or none",
                fix=Fix(message="write fixed", at=(*path, "scaling"), value="fixed"),
            )
        )
    elif pool.select and pool.sharing.shares:
        findings.append(
            info(
                "pool.select_labels",
                (*path, "select"),
                "these nodes must carry the labels that `gpuyard plan -v` lists, or their GPUs stay whole;"
                " no manifest puts labels on nodes that exist"
                if spec.apply is Apply.RENDER
                else "`up` finds these nodes with kubectl, and puts the labels on them that `gpuyard plan -v`"
                " lists: their GPUs are shared from then on",
            )
        )
    return findings + _check_fabric(spec, pool, path)


def _check_fabric(spec: PlatformSpec, pool: Pool, path: Path) -> list[Finding]:
    fabric, here = pool.fabric, (*path, "fabric")
    if fabric is None:
        return []
    if spec.cloud in {Cloud.AWS, Cloud.GCP}:
        return [
            error(
                "pool.fabric_cloud",
                here,
                f"on {spec.cloud.value} the machine type says how nodes reach each other",
                value=fabric.kind.value,
                allowed="fabric on a cluster of your own",
                fix=Fix(message="remove `fabric`", at=here),
            )
        ]
    if fabric.kind is FabricKind.ETHERNET and fabric.hcas:
        return [
            error(
                "pool.fabric_adapters",
                (*here, "hcas"),
                "over plain Ethernet no adapter goes past the host's TCP, so none is named",
                value=", ".join(fabric.hcas),
                allowed="hcas with infiniband or roce",
                fix=Fix(message="remove `hcas`", at=(*here, "hcas")),
            )
        ]
    if twice := sorted({h for h in fabric.hcas if fabric.hcas.count(h) > 1}):
        once = list(dict.fromkeys(fabric.hcas))
        return [
            error(
                "pool.fabric_adapters",
                (*here, "hcas"),
                f"an adapter stands there twice: {', '.join(twice)}",
                value=", ".join(fabric.hcas),
                allowed="each adapter once",
                fix=Fix(message=f"write {', '.join(once)}", at=(*here, "hcas"), value=once),
            )
        ]
    if fabric.kind is not FabricKind.ETHERNET and not fabric.hcas:
        return [
            info(
                "pool.fabric_adapters",
                here,
                "without `hcas`, NCCL takes every adapter it finds, also one that is not beside a GPU",
                value=fabric.kind.value,
            )
        ]
    return []


def check_selectors(draft: Draft) -> list[Finding]:
    """No node is in two pools: labels that one node can carry all of may select it twice."""
    spec = draft.spec
    findings: list[Finding] = []
    chosen = [(i, p) for i, p in enumerate(spec.pools) if p.select and spec.cloud is Cloud.NONE]
    for place, (number, pool) in enumerate(chosen):
        for _, other in chosen[:place]:
            if any(pool.select.get(key, value) != value for key, value in other.select.items()):
                continue  # a label has one value: no node is in both
            findings.append(_overlap(pool, other, ("pools", number, "select")))
            break
    return findings


def _overlap(pool: Pool, other: Pool, path: Path) -> Finding:
    mine, theirs = pool.select.items(), other.select.items()
    labels = ", ".join(f"{key}={value}" for key, value in mine)
    allowed = "a label with another value in each pool"
    if mine >= theirs or theirs >= mine:
        inner, outer = (pool, other) if mine >= theirs else (other, pool)
        return error(
            "pool.select_overlap",
            path,
            f"every node of {inner.name} is also one of {outer.name}: its GPUs would be counted twice",
            value=labels,
            allowed=allowed,
        )
    return warning(
        "pool.select_overlap",
        path,
        f"a node with the labels of both {other.name} and {pool.name} would be counted twice",
        value=labels,
        allowed=allowed,
    )
