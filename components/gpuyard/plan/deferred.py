"""Words of the vocabulary that a plan makes nothing of yet, or only plans: each is said, none is ignored."""

from collections.abc import Iterator, Mapping

from gpuyard.findings import Finding, Fix, Path, note, warn
from gpuyard.plan.draft import Draft
from gpuyard.spec.base import SpecModel
from gpuyard.spec.platform import Cloud, PlatformSpec

NOTHING: Mapping[str, str] = {
    "storage": "no storage is made",
    "workloads": "training runtimes and services are not installed",
    "addons": "no add-on is installed",
    "tags": "no cloud resource is made that could carry tags",
    "mirror": "only Kueue is installed, and it comes from there; nothing is pulled ahead",
    "consent": "no plan drains nodes or cuts them anew",
}
PLANNED: Mapping[str, str] = {
    "observability": "nothing is installed that measures",
    "software": "of these versions only Kueue's is installed",
    "cluster": "nothing is created or protected; `existing` picks the context of your kubeconfig",
    "targets": "the expected bill reckons with `utilisation_percent`, but nothing measures targets",
}
NO_CHECK = "this release has no hardware check, so no pool counts as checked"
POOL_PLANNED: Mapping[str, str] = {
    "warm": "nothing keeps the nodes running",
    "fabric": "NCCL is not set up for it",
    "image": "no node is made that could boot from it",
    "numa": "no kubelet is configured",
}
"""Proved and part of the plan; only what would act on it is missing."""
POOL_NOTHING: Mapping[str, str] = {
    "disk_gib": "no node is made that could have the disk",
}


def nodes_not_made(spec: PlatformSpec) -> list[Finding]:
    """Say of a platform on a cloud that `pulumi up` refuses it: nothing here buys nodes."""
    if spec.cloud in {Cloud.SIMULATED, Cloud.NONE}:
        return []
    return [
        warn(
            "cloud.nodes",
            ("cloud",),
            f"`pulumi up` refuses this platform: nodes on {spec.cloud.value} are checked, planned and priced,"
            " and what runs on them is rendered; no node pool is created",
            given=spec.cloud.value,
            allowed="simulated, or none for a cluster that has its nodes, where `pulumi up` is to run",
            fix=Fix(
                says="make the nodes yourself, with the labels of `gpuyard plan -v`; write cloud: none"
            ),
        )
    ]


def check_deferred(draft: Draft) -> list[Finding]:
    """What the stack file asks for and this release makes nothing of."""
    spec = draft.spec
    findings = [note("section.deferred", *said) for said in _said(spec, NOTHING, ())]
    findings += _planned(spec, PLANNED, ())
    planned, nothing = dict(POOL_PLANNED), dict(POOL_NOTHING)
    if spec.cloud is Cloud.SIMULATED:
        del planned["image"]
        nothing["image"] = "simulated nodes boot from nothing"
    for index, pool in enumerate(spec.pools):
        path: Path = ("pools", index)
        findings += [note("section.deferred", *said) for said in _said(pool, nothing, path)]
        findings += _planned(pool, planned, path)
        if pool.sharing.dra:
            lacks = "`sharing: dra` is planned, not carried out: the DRA driver is not installed"
            findings.append(note("section.deferred", (*path, "sharing"), lacks))
    return findings


def check_validation(draft: Draft) -> list[Finding]:
    """Say that a hardware check was asked for, and that there is none."""
    if draft.spec.validation is None:
        return []
    return [note("validation.deferred", ("validation",), show_validation(draft.spec))]


def show_validation(spec: PlatformSpec) -> str:
    """What becomes of the hardware check."""
    if spec.validation is None:
        return "not asked for"
    asked = (
        f"{spec.validation.profile.value} check{', required' if spec.validation.required else ''}"
    )
    return f"{asked}: deferred, {NO_CHECK}"


def _planned(model: SpecModel, words: Mapping[str, str], path: Path) -> list[Finding]:
    return [
        note("section.deferred", (*path, word), f"`{word}` is planned, not carried out: {lacks}")
        for word, lacks in words.items()
        if word in model.model_fields_set
    ]


def _said(model: SpecModel, words: Mapping[str, str], path: Path) -> Iterator[tuple[Path, str]]:
    for word, becomes in words.items():
        if word in model.model_fields_set:
            yield (*path, word), _text(word, becomes)


def _text(word: str, becomes: str) -> str:
    return f"`{word}` is understood, but nothing is made of it yet: {becomes}"
