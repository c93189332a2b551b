"""Versions that a stack file picks: known, exact, still supported, and made for this Kubernetes.

All other components keep their pins. Every version, picked or pinned, is checked for
vulnerabilities.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from gpuyard.plan.draft import Draft
from gpuyard.plan.software.support import check_pins
from gpuyard.spec.platform import PlatformSpec
from gpuyard_core.catalogue.software.pins import (
    KUBERNETES_MINORS,
    NEWEST_TRIED,
    PINS,
    Pin,
    is_before,
)
from gpuyard_core.catalogue.software.versions import is_version
from gpuyard_core.catalogue.sources import Source
from gpuyard_core.findings import Diagnostic, Fix, Path, error, info, warning
from gpuyard_core.suggestions import nearest_name


def effective_pins(spec: PlatformSpec) -> dict[str, Pin]:
    """The version of every component; invalid entries of `software` are ignored."""
    pins = default_pins(spec.kubernetes)
    for name, version in _readable(spec).items():
        checked = PINS[name].source.checked_on
        source = Source("the stack file", checked, verified=False, as_of=checked)
        pins[name] = replace(PINS[name], version=version, source=source)
    return pins


def default_pins(minor: str) -> dict[str, Pin]:
    """What is installed by default: Cluster Autoscaler is the one for the cluster's minor."""
    from gpuyard_core.catalogue.software.compatibility import AUTOSCALERS

    return dict(PINS) | ({"cluster-autoscaler": AUTOSCALERS[minor]} if minor in AUTOSCALERS else {})


def _readable(spec: PlatformSpec) -> dict[str, str]:
    return {n: v for n, v in spec.software.items() if n in PINS and is_version(n, v)}


def check_software(draft: Draft) -> Iterator[Diagnostic]:
    """Report what is wrong with the versions of this platform."""
    spec = draft.spec
    if not spec.software:
        yield from check_pins(today=draft.today)
        return
    for name, version in spec.software.items():
        if finding := _unreadable(spec, name, version):
            yield finding
    defaults, readable = default_pins(spec.kubernetes), _readable(spec)
    pins = effective_pins(spec)
    for finding in check_pins(pins.values(), draft.today):
        name = str(finding.path[-1])
        yield (
            replace(finding, fix=_back(defaults[name], finding.path))
            if name in readable
            else finding
        )
    for name, version in readable.items():
        path, pinned = ("software", name), defaults[name]
        yield from _not_made_for(spec.kubernetes, name, version, pinned, path)
        if name == "gpu-operator":
            yield from _life_cycle(version, pinned, path)
        if version != pinned.version:
            yield info(
                "software.untried",
                path,
                f"{pinned.version} was tested with the other versions, {version} was not",
                given=version,
            )


def _unreadable(spec: PlatformSpec, name: str, version: str) -> Diagnostic | None:
    path: Path = ("software", name)
    if name not in PINS:
        suggestion = nearest_name(name, list(PINS))
        rest = {k: v for k, v in spec.software.items() if k != name}
        better = {**rest, suggestion: version} if suggestion and suggestion not in rest else None
        return error(
            "software.unknown",
            path,
            "no component has this name",
            given=name,
            allowed=", ".join(PINS),
            fix=Fix(message=f"write {suggestion}", at=("software",), value=better)
            if better
            else Fix.remove(path),
        )
    if is_version(name, version):
        return None
    pinned = default_pins(spec.kubernetes)[name].version
    return error(
        "software.version",
        path,
        f"not an exact version of {name}",
        given=version,
        allowed=f"one release, such as {pinned}",
        fix=Fix(message=f'write "{pinned}"', at=path, value=pinned),
    )


def _back(pinned: Pin, path: Path) -> Fix:
    return Fix(
        message=f'write "{pinned.version}", the pinned version', at=path, value=pinned.version
    )


def _not_made_for(minor: str, name: str, version: str, pinned: Pin, path: Path) -> list[Diagnostic]:
    """A version that does not list the cluster's minor; check_minor reports unsupported minors."""
    from gpuyard_core.catalogue.software.compatibility import minors_of

    minors = minors_of(name, version)
    if minor not in KUBERNETES_MINORS or minors is None or minors.includes(minor):
        return []
    usual = minors_of(name, pinned.version)
    if usual is None or usual.includes(minor):
        fix = _back(pinned, path)
    else:  # such as DRA, which no default needs, or a minor that no version lists
        first = usual.first if is_before(minor, usual.first or minor) else NEWEST_TRIED
        fix = Fix(message=f'write kubernetes: "{first}"', at=("kubernetes",), value=first)
    return [
        error(
            "software.kubernetes",
            path,
            f"{name} {version} does not support Kubernetes {minor}",
            given=version,
            allowed=f"a version that supports Kubernetes {minor}; this one supports {minors}",
            fix=fix,
        )
    ]


def _life_cycle(version: str, pinned: Pin, path: Path) -> Iterator[Diagnostic]:
    """NVIDIA supports the newest minor of the operator, fixes the one before, and drops others."""
    from gpuyard_core.catalogue.software.support import OperatorStatus, operator_status

    line = ".".join(version.removeprefix("v").split(".")[:2])
    match operator_status(version):
        case OperatorStatus.ENDED:
            problem = f"NVIDIA no longer supports GPU Operator {line}"
            yield error("software.ended", path, problem, given=version, fix=_back(pinned, path))
        case OperatorStatus.DEPRECATED:
            problem = f"GPU Operator {line} gets fixes only, until the next minor release"
            yield warning(
                "software.deprecated", path, problem, given=version, fix=_back(pinned, path)
            )
        case _:
            pass


def versions(pins: Mapping[str, Pin]) -> dict[str, str]:
    """By component, for the plan."""
    return {name: pin.version for name, pin in pins.items()}
