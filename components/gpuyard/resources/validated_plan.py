"""Validates the arguments of components and derives the plan, before anything is registered."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path as Folder
from typing import TYPE_CHECKING, Any

import pulumi
import pulumi.runtime

from gpuyard.plan.platform import calendar_findings
from gpuyard.plan.records import PlatformPlan
from gpuyard.resources.errors import PlatformRejected
from gpuyard.resources.late_inputs import LateInputs
from gpuyard.spec.read import read_platform
from gpuyard.spec.region import place_keys
from gpuyard.stack_validation import validate
from gpuyard_core.findings import Diagnostic, Fix, Severity, error
from gpuyard_core.local_files import file_reader
from gpuyard_core.models.problems import format_input
from gpuyard_core.suggestions import nearest_name
from gpuyard_core.today import today

if TYPE_CHECKING:
    from gpuyard.spec.platform import PlatformSpec
    from gpuyard.typed import PlatformDict


@dataclass(frozen=True, slots=True)
class ValidatedPlan:
    """A plan without errors, and its other findings."""

    plan: PlatformPlan
    findings: tuple[Diagnostic, ...] = ()
    late_inputs: Mapping[str, pulumi.Output[Any]] = field(default_factory=dict[str, Any])
    """Outputs of the user's program, by the names of their late values in the plan."""


if TYPE_CHECKING:
    PlatformLike = PlatformDict | PlatformSpec | PlatformPlan | ValidatedPlan
else:
    # The SDK's component host reads annotations at run time and supports no unions; other languages
    # use the types of `spec_types`.
    PlatformLike = Any


def validate_platform(
    platform: object, opts: pulumi.ResourceOptions | None = None
) -> ValidatedPlan:
    """Validate a platform as `gpuyard check` does; PlatformRejected lists all errors.

    The region is that of the cloud provider in `opts`, otherwise of the stack's configuration. Date-dependent
    checks are left to `calendar_findings_today`. A ValidatedPlan is returned, and a PlatformPlan is
    used unchanged: it was validated when it was created.
    """
    if isinstance(platform, ValidatedPlan):
        return platform
    if isinstance(platform, PlatformPlan):
        return ValidatedPlan(platform)
    taken = LateInputs()
    platform = taken.take(platform)
    if taken.refused:
        raise PlatformRejected("the platform", taken.refused)
    files = file_reader(Folder(pulumi.runtime.get_root_directory() or Folder.cwd()))
    place = taken.provider_location(platform, opts)
    judged = validate(read_platform(platform, {**_stack_config(), **place}, files))
    if judged.plan is None:
        part = judged.reading.checkable_spec
        name = f" {part.name}" if part is not None else ""
        raise PlatformRejected(f"the platform{name}", judged.findings)
    findings = (*judged.findings, *taken.findings(judged.plan))
    return ValidatedPlan(judged.plan, findings, taken.outputs)


def calendar_findings_today(plan: PlatformPlan) -> list[Diagnostic]:
    """Date-dependent findings of today, as warnings at most.

    A deployment registers the same resources on every day, so that a date never blocks an urgent
    fix. `gpuyard check` rejects versions without support.
    """
    return [
        replace(finding, severity=min(finding.severity, Severity.WARNING, key=lambda s: s.rank))
        for finding in calendar_findings(plan, today())
    ]


def read_args(
    component: str, args: object, *, required: tuple[str, ...], optional: tuple[str, ...] = ()
) -> Mapping[str, Any]:
    """Read a component's arguments; a missing or unknown one is rejected."""
    known = (*required, *optional)
    if not isinstance(args, Mapping):
        finding = error(
            "args.form",
            (),
            f"the arguments of {component} must be a mapping",
            given=type(args).__name__,
            allowed="{" + ", ".join(f'"{name}": …' for name in known) + "}",
        )
        raise PlatformRejected(component, [finding])
    findings = [
        error("args.missing", (name,), f"`{name}` is missing", fix=Fix(message=f"add `{name}`"))
        for name in required
        if name not in args
    ]
    for name in (each for each in args if each not in known):
        suggestion = nearest_name(name, known) if isinstance(name, str) else None
        fix = Fix(message=f"write `{suggestion}`" if suggestion else "remove it")
        given, allowed = format_input(name), ", ".join(known)
        findings.append(
            error(
                "args.unknown",
                (str(name),),
                "unknown argument",
                given=given,
                allowed=allowed,
                fix=fix,
            )
        )
    if findings:
        raise PlatformRejected(component, findings)
    return args


def _stack_config() -> Mapping[str, object]:
    """Region and project of the stack's configuration, under the keys of its file."""
    values = {
        key: pulumi.Config(key.partition(":")[0]).get(key.partition(":")[2]) for key in place_keys()
    }
    return {key: value for key, value in values.items() if value is not None}
