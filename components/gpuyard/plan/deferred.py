"""Words of the vocabulary that a plan makes nothing of yet, or only plans: each is said, none is ignored."""

from collections.abc import Iterator, Mapping

from gpuyard.findings import Finding, Path, note
from gpuyard.spec.base import SpecModel
from gpuyard.spec.platform import Cloud, PlatformSpec

_PLATFORM: Mapping[str, str] = {
    "storage": "no storage is made",
    "workloads": "training runtimes and services are not installed",
    "addons": "no add-on is installed",
    "tags": "no cloud resource is made that could carry tags",
    "mirror": "only Kueue is installed, and it comes from there; nothing is pulled ahead",
    "consent": "no plan drains nodes or cuts them anew",
}
_PLATFORM_PLANNED: Mapping[str, str] = {
    "observability": "nothing is installed that measures",
    "software": "of these versions only Kueue's is installed",
    "cluster": "nothing is created or protected; `existing` picks the context of your kubeconfig",
    "targets": "the expected bill reckons with `utilisation_percent`, but nothing measures targets",
}
_POOL_PLANNED: Mapping[str, str] = {
    "warm": "nothing keeps the nodes running",
    "fabric": "NCCL is not set up for it",
    "image": "no node is made that could boot from it",
    "numa": "no kubelet is configured",
}
"""Proved and part of the plan; only what would act on it is missing."""
_POOL: Mapping[str, str] = {
    "disk_gib": "no node is made that could have the disk",
}


def check_deferred(spec: PlatformSpec) -> list[Finding]:
    """What the stack file asks for and this release makes nothing of."""
    findings = [note("section.deferred", *said) for said in _said(spec, _PLATFORM, ())]
    findings += _planned(spec, _PLATFORM_PLANNED, ())
    planned, nothing = dict(_POOL_PLANNED), dict(_POOL)
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
