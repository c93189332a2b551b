"""Checks of versions: no published vulnerability, and a Kubernetes that is still supported.

The date is an argument. A plan without it does not check support, so the same spec gives the same
plan.
"""

from collections.abc import Iterable, Iterator
from datetime import date
from functools import cache
from typing import TYPE_CHECKING

from gpuyard.plan.draft import Draft
from gpuyard.provider import Provider
from gpuyard.spec.platform import Cloud, PlatformSpec
from gpuyard.spec.pools import Scaling
from gpuyard_core.catalogue.software.images import ComponentOwner
from gpuyard_core.catalogue.software.pins import (
    KUBERNETES_MINORS,
    NEWEST_TRIED,
    PINS,
    Pin,
    is_before,
)
from gpuyard_core.findings import Diagnostic, Fix, Severity, error, info, warning
from gpuyard_core.names import COUNTERS_CONFIGMAP, MIG_CONFIGMAP, PLUGIN_CONFIGMAP

if TYPE_CHECKING:
    from gpuyard_core.catalogue.cves import Advisory
    from gpuyard_core.catalogue.software.support import SupportStatus

WARN_DAYS = 60
"""Time to plan the upgrade: EKS announces an end at least this long before."""


def check_pins(
    pins: Iterable[Pin] = tuple(PINS.values()), today: date | None = None
) -> list[Diagnostic]:
    """Reject a version that an NVIDIA bulletin lists; warn of a driver branch without fixes."""
    return [finding for pin in pins if (finding := _check_pin(pin, today))]


@cache  # bulletins and pins are fixed, and a program may make a thousand plans
def _check_pin(pin: Pin, today: date | None) -> Diagnostic | None:
    from gpuyard_core.catalogue.cves import (
        branch_of,
        is_branch_maintained,
        known_vulnerabilities,
        minimum_fixed_version,
    )
    from gpuyard_core.catalogue.software.support import driver_end

    branch = branch_of(pin.bulletin_component, pin.version)
    path, value = ("software", pin.name), f"{pin.name} {pin.version}"
    against = list(known_vulnerabilities(pin.bulletin_component, pin.version))
    lowest = minimum_fixed_version(pin.bulletin_component, branch)
    if against and lowest:
        more = f", and {len(against) - 1} more" if against[1:] else ""
        bound = f"{lowest}" if lowest.unaffected_above else f"{lowest} or later"
        return error(
            "software.vulnerable",
            path,
            f"has a published vulnerability: {_named(against[0])}{more}",
            given=value,
            allowed=bound,
            fix=Fix(message=f"use {pin.name} {bound}"),
        )
    if branch and is_branch_maintained(branch, today) is False:
        end = driver_end(branch, today)
        why = (
            f"support of branch {branch} ended on {end}"
            if end
            else f"NVIDIA's newest driver bulletin has no fix for branch {branch}"
        )
        return warning(
            "software.branch_ended",
            path,
            f"{why}: its vulnerabilities are unknown",
            given=value,
            fix=Fix(message="use a driver of a branch that still gets fixes"),
        )
    return None


def _named(row: "Advisory") -> str:
    score = "" if row.score is None else f", score {row.score}"
    return f"{row.cve}{score} (NVIDIA bulletin {row.bulletin})"


def check_minor(draft: Draft) -> Iterator[Diagnostic]:
    """Reject a Kubernetes minor that no pin supports; warn where some do not list it."""
    if draft.spec.kubernetes in KUBERNETES_MINORS:
        yield from _untried(draft)
        return
    # the minor of a full version, such as v1.35.2-eks-1a2b3c; else the newest tested
    parts = draft.spec.kubernetes.removeprefix("v").split(".")
    minor = ".".join(parts[:2])
    meant = minor if minor in KUBERNETES_MINORS else NEWEST_TRIED
    yield error(
        "kubernetes.unsupported",
        ("kubernetes",),
        "the pinned components do not support this Kubernetes minor version",
        given=draft.spec.kubernetes,
        allowed=", ".join(f'"{v}"' for v in KUBERNETES_MINORS),
        fix=Fix(message=f'write "{meant}"', at=("kubernetes",), value=meant),
    )


def check_machine_minors(draft: Draft) -> Iterator[Diagnostic]:
    """Reject a Kubernetes minor in which the cloud does not support the machine of a pool."""
    minor = draft.spec.kubernetes
    for index, pool in enumerate(draft.spec.pools):
        planned = draft.pools.get(pool.name)
        versions = draft.provider.kubernetes_versions(planned.machine) if planned else {}
        first = next((each for each in versions if each in KUBERNETES_MINORS), None)
        if planned and first and is_before(minor, first):
            yield error(
                "kubernetes.machine",
                ("pools", index, "machine"),
                f"{draft.provider.service} supports {planned.machine.name} since version {versions[first]}",
                given=f"Kubernetes {minor}",
                allowed=f"{', '.join(versions.values())}, or a later patch version",
                fix=Fix(message=f'write kubernetes: "{first}"', at=("kubernetes",), value=first),
            )


def _untried(draft: Draft) -> Iterator[Diagnostic]:
    """One warning with every installed component that does not list the minor."""
    from gpuyard_core.catalogue.software.compatibility import AUTOSCALERS, minors_of

    minor = draft.spec.kubernetes
    if not draft.provider.service:
        return
    pools = () if draft.provider.includes_autoscaler else draft.valid_pools.values()
    scalers = {pool.scaling for pool in pools}
    pins = {name: PINS[name] for name in ("gpu-operator", "kueue")}
    if Scaling.KARPENTER in scalers:
        pins["karpenter-aws"] = PINS["karpenter-aws"]
    if Scaling.AUTOSCALER in scalers:
        pins["cluster-autoscaler"] = AUTOSCALERS.get(minor, PINS["cluster-autoscaler"])
    named = (
        f"{name} {PINS[name].version} ({minors})"
        for name, pin in pins.items()
        if name not in draft.spec.software
        and (minors := minors_of(name, pin.version))
        and not minors.includes(minor)
    )
    if text := ", ".join(named):
        yield warning(
            "kubernetes.untried",
            ("kubernetes",),
            f"these components do not list Kubernetes {minor} as supported: {text}",
            given=minor,
            allowed=f'"{NEWEST_TRIED}", which all of them list',
            fix=Fix(message=f'write "{NEWEST_TRIED}"', at=("kubernetes",), value=NEWEST_TRIED),
        )


def check_kubernetes(draft: Draft) -> Iterator[Diagnostic]:
    """Warn before support of a minor ends; reject it in a cloud when all support has ended.

    Without a date support is not checked. A simulated cluster has no support; a minor that is
    rejected already is not checked again.
    """
    provider, minor, today = draft.provider, draft.spec.kubernetes, draft.today
    if today is None or not provider.service or minor not in KUBERNETES_MINORS:
        return
    judged = _support_severity(provider, minor, today)
    if judged is None:
        return
    severity, problem = judged
    fix = None if severity is Severity.INFO else _fix(provider, minor, today, severity)
    if not provider.sells_machines and severity is Severity.ERROR:
        severity = Severity.WARNING  # the cluster has that version already
    yield Diagnostic(
        "kubernetes.support", ("kubernetes",), problem, severity=severity, given=minor, fix=fix
    )


def _support_severity(provider: Provider, minor: str, today: date) -> tuple[Severity, str] | None:
    """Severity and problem; None when more than WARN_DAYS of standard support are left."""
    from gpuyard_core.catalogue.software.support import support_status

    service = provider.service
    known = support_status(provider.name, minor, today)
    if known is None:
        return Severity.INFO, f"the end of {service} support for Kubernetes {minor} is unknown"
    if known.days_left > WARN_DAYS:
        return None
    window = known.window
    doubt = "" if window.source.verified else f" (not confirmed by {service})"
    if known.days_left > 0:
        days = _days(known.days_left)
        return (
            Severity.WARNING,
            f"standard support by {service} ends on {window.standard_end}{doubt}, in {days}",
        )
    ended = f"standard support by {service} ended on {window.standard_end}{doubt}"
    if window.has_extended:
        return _judge_extended(known, ended)
    return _ended_severity(known), ended


def _judge_extended(known: "SupportStatus", ended: str) -> tuple[Severity, str]:
    end, days_left = known.window.extended_end, known.extended_days_left
    if days_left is None:
        return Severity.WARNING, f"{ended}; the end of extended support is unknown"
    if days_left > 0:
        rest = f"extended support, for an extra charge, ends on {end}, in {_days(days_left)}"
        return Severity.WARNING, f"{ended}; {rest}"
    return _ended_severity(known), f"{ended}, and extended support on {end}"


def _ended_severity(known: "SupportStatus") -> Severity:
    """A date that its owner has not confirmed is never an error."""
    return Severity.ERROR if known.window.source.verified else Severity.WARNING


def _fix(provider: Provider, minor: str, today: date, severity: Severity) -> Fix | None:
    """The nearest newer minor without a finding, or at least with a less severe one."""
    newer = KUBERNETES_MINORS[KUBERNETES_MINORS.index(minor) + 1 :]
    judged = {each: _support_severity(provider, each, today) for each in newer}
    better = [each for each, violation in judged.items() if violation is None]
    if severity is Severity.ERROR:
        better += [
            each for each, violation in judged.items() if violation and violation[0] is not severity
        ]
        if not better:
            return Fix(message="upgrade gpuyard to a release that supports a newer Kubernetes")
    if not better:
        return None
    return Fix(message=f'write "{better[0]}"', at=("kubernetes",), value=better[0])


def _days(count: int) -> str:
    return f"{count} day{'s' if count != 1 else ''}"


def joins_operator(spec: PlatformSpec) -> bool:
    """Whether gpuyard uses an existing operator; a simulated cluster includes its own."""
    return spec.cloud is not Cloud.SIMULATED and not spec.gpu_operator.install


def config_map_names(spec: PlatformSpec) -> tuple[str, str]:
    """ConfigMaps of MIG manager and device plugin; with the platform's name if existing."""
    return _own_name(spec, MIG_CONFIGMAP), _own_name(spec, PLUGIN_CONFIGMAP)


def counters_config_map(spec: PlatformSpec) -> str:
    """The ConfigMap of the DCGM exporter; with the platform's name if the operator is an existing one."""
    return _own_name(spec, COUNTERS_CONFIGMAP)


def _own_name(spec: PlatformSpec, name: str) -> str:
    return f"{name}-{spec.name}" if joins_operator(spec) else name


def check_operator(draft: Draft) -> Iterator[Diagnostic]:
    """Report what an existing operator must read: one ConfigMap of each kind, of any name."""
    spec = draft.spec
    if not joins_operator(spec) or not any(
        ComponentOwner.OPERATOR.value in pool.node_software.owners.values()
        for pool in draft.valid_pools.values()
        if pool.node_software
    ):
        return
    mig, plugin = config_map_names(spec)
    counters = (
        f", dcgmExporter.config.name to {counters_config_map(spec)}" if draft.observability else ""
    )
    yield info(
        "operator.existing",
        ("gpu_operator", "install"),
        f"gpuyard does not change the GPU Operator in {spec.gpu_operator.namespace}: set"
        f" devicePlugin.config.name to {plugin}{counters} and migManager.config.name to {mig}, or nodes differ from"
        " the plan. Each preview and `pulumi up` compares these values and the others that the plan needs",
    )
