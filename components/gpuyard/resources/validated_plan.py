"""Validates the arguments of components and derives the plan, before anything is registered."""

import inspect
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path as Folder
from typing import TYPE_CHECKING, Any

import pulumi
import pulumi.runtime
from pulumi.output import Unknown

from gpuyard.findings import Diagnostic, Fix, Path, Severity, error
from gpuyard.local_files import file_reader
from gpuyard.plan.platform import calendar_findings
from gpuyard.plan.records import PlatformPlan
from gpuyard.resources.errors import PlatformRejected
from gpuyard.spec.problems import format_input
from gpuyard.spec.read import read_platform
from gpuyard.spec.region import place_keys
from gpuyard.spec.suggestions import nearest_name
from gpuyard.stack_validation import validate
from gpuyard.today import today

if TYPE_CHECKING:
    from gpuyard.spec.platform import PlatformSpec
    from gpuyard.typed import PlatformDict


@dataclass(frozen=True, slots=True)
class ValidatedPlan:
    """A plan without errors, and its other findings."""

    plan: PlatformPlan
    findings: tuple[Diagnostic, ...] = ()


if TYPE_CHECKING:
    PlatformLike = PlatformDict | PlatformSpec | PlatformPlan | ValidatedPlan
else:
    # The SDK's component host reads annotations at run time and supports no unions; other languages
    # use the types of `spec_types`.
    PlatformLike = Any

_MIDNIGHT = re.compile(r"(\d{4}-\d\d-\d\d)T00:00:00Z")


def validate_platform(platform: object) -> ValidatedPlan:
    """Validate a platform as `gpuyard check` does; PlatformRejected lists all errors.

    The region comes from the cloud provider's settings in the stack's configuration. Date-dependent
    checks are left to `calendar_findings_today`. A ValidatedPlan is returned, and a PlatformPlan is
    used unchanged: it was validated when it was created.
    """
    if isinstance(platform, ValidatedPlan):
        return platform
    if isinstance(platform, PlatformPlan):
        return ValidatedPlan(platform)
    late = list(_late(platform, ()))
    if late:
        raise PlatformRejected("the platform", late)
    files = file_reader(Folder(pulumi.runtime.get_root_directory() or Folder.cwd()))
    judged = validate(read_platform(_plain(platform), _stack_config(), files))
    if judged.plan is None:
        part = judged.reading.checkable_spec
        name = f" {part.name}" if part is not None else ""
        raise PlatformRejected(f"the platform{name}", judged.findings)
    return ValidatedPlan(judged.plan, judged.findings)


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
    findings = [_missing(name) for name in required if name not in args]
    findings += [_unknown(name, known) for name in args if name not in known]
    if findings:
        raise PlatformRejected(component, findings)
    return args


def _stack_config() -> Mapping[str, object]:
    """Region and project of the stack's configuration, under the keys of its file."""
    values = {
        key: pulumi.Config(key.partition(":")[0]).get(key.partition(":")[2]) for key in place_keys()
    }
    return {key: value for key, value in values.items() if value is not None}


def _missing(name: str) -> Diagnostic:
    return error(
        "args.missing",
        (name,),
        f"`{name}` is missing",
        fix=Fix(message=f"add `{name}`"),
    )


def _unknown(name: object, known: tuple[str, ...]) -> Diagnostic:
    suggestion = nearest_name(name, known) if isinstance(name, str) else None
    return error(
        "args.unknown",
        (str(name),),
        "unknown argument",
        given=format_input(name),
        allowed=", ".join(known),
        fix=Fix(message=f"write `{suggestion}`" if suggestion else "remove it"),
    )


def _late(value: object, path: Path) -> Iterator[Diagnostic]:
    """Findings for values that are known only after a deployment: gpuyard cannot validate them."""
    if isinstance(value, pulumi.Output | Unknown) or inspect.isawaitable(value):
        yield error(
            "args.late",
            path,
            "the value is an output, known only after a deployment, or a secret",
            given=type(value).__name__,
            allowed="a plain value: gpuyard validates pools, quotas and cost before the deployment",
            fix=Fix(message="set the value itself, or read it from the stack's configuration"),
        )
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _late(inner, (*path, str(key)))
    elif isinstance(value, list | tuple):
        for index, inner in enumerate(value):
            yield from _late(inner, (*path, index))


def _plain(value: Any) -> Any:
    """The value with plain dictionaries and lists instead of other mappings and sequences."""
    if isinstance(value, Mapping):
        return {key: _plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    # The engine makes a time of a date without quotes; `gpuyard check` reads the date as written.
    if isinstance(value, str) and (day := _MIDNIGHT.fullmatch(value)):
        return day[1]
    return value
