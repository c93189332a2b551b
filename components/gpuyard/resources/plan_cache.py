"""From what a component was given to a proved plan, before anything is registered."""

import inspect
import re
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path as Folder
from typing import TYPE_CHECKING, Any

import pulumi
import pulumi.runtime
from pulumi.output import Unknown

from gpuyard.findings import Finding, Fix, Path, Severity, error
from gpuyard.local_files import file_reader
from gpuyard.plan.records import PlatformPlan
from gpuyard.resources import arguments
from gpuyard.resources.errors import PlatformRejected
from gpuyard.spec import platform as vocabulary
from gpuyard.spec.problems import format_input
from gpuyard.spec.read import read_platform
from gpuyard.spec.region import place_keys
from gpuyard.spec.suggestions import nearest_name
from gpuyard.stack_validation import calendar_findings, validate
from gpuyard.today import today
from gpuyard.typed import PlatformDict

if TYPE_CHECKING:
    PlatformLike = PlatformDict | vocabulary.PlatformSpec | PlatformPlan
else:
    # The component host reads annotations at run time and takes no unions: other languages give
    # the typed mapping.
    PlatformLike = arguments.PlatformSpec


@dataclass(frozen=True, slots=True)
class ValidatedPlan:
    """A plan that no proof refuses, and what else there is to say about it."""

    plan: PlatformPlan
    findings: tuple[Finding, ...] = ()


_MIDNIGHT = re.compile(r"(\d{4}-\d\d-\d\d)T00:00:00Z")
_PROOFS: deque[ValidatedPlan] = deque(maxlen=16)
"""The last that were made: a program has as many platforms at most."""


def validate_platform(platform: object) -> ValidatedPlan:
    """Judge a platform as `gpuyard check` does; PlatformRejected lists everything that stands against it.

    The region is the one that the stack's configuration gives the cloud's provider. Only the day is left out,
    for `calendar_findings_today` to look at. A plan is taken as it is: whoever made it has
    proved it.
    """
    if isinstance(platform, PlatformPlan):
        return ValidatedPlan(platform)
    late = list(_late(platform, ()))
    if late:
        raise PlatformRejected("the platform", late)
    files = file_reader(Folder(pulumi.runtime.get_root_directory() or Folder.cwd()))
    judged = validate(read_platform(_plain(platform), _stack_config(), files))
    if judged.plan is None:
        part = judged.reading.judged_part
        name = f" {part.name}" if part is not None else ""
        raise PlatformRejected(f"the platform{name}", judged.findings)
    proof = ValidatedPlan(judged.plan, judged.findings)
    _PROOFS.append(proof)
    return proof


def validated_plan(platform: object) -> ValidatedPlan:
    """What `prove` said of a plan when it made it; anything else, another's plan too, is proved now."""
    known = (proof for proof in _PROOFS if proof.plan is platform)
    return next(known, None) or validate_platform(
        platform.spec if isinstance(platform, PlatformPlan) else platform
    )


def calendar_findings_today(spec: vocabulary.PlatformSpec) -> list[Finding]:
    """What the calendar says today, as warnings at most.

    A deployment registers the same on every day: nobody whose cluster has to be mended now is stopped by a
    date. `gpuyard check` refuses what support has ended for.
    """
    return [
        replace(finding, severity=min(finding.severity, Severity.WARNING, key=lambda s: s.rank))
        for finding in calendar_findings(spec, today())
    ]


def read_args(
    component: str, args: object, *, required: tuple[str, ...], optional: tuple[str, ...] = ()
) -> Mapping[str, Any]:
    """The arguments of a component as a mapping, with none missing and none unknown."""
    known = (*required, *optional)
    if not isinstance(args, Mapping):
        finding = error(
            "args.form",
            (),
            f"the arguments of {component} are a mapping",
            value=type(args).__name__,
            allowed="{" + ", ".join(f'"{name}": …' for name in known) + "}",
        )
        raise PlatformRejected(component, [finding])
    findings = [_missing(name) for name in required if name not in args]
    findings += [_unknown(name, known) for name in args if name not in known]
    if findings:
        raise PlatformRejected(component, findings)
    return args


def _stack_config() -> Mapping[str, object]:
    """What the stack's configuration says of region and project, under the keys of its file."""
    values = {
        key: pulumi.Config(key.partition(":")[0]).get(key.partition(":")[2]) for key in place_keys()
    }
    return {key: value for key, value in values.items() if value is not None}


def _missing(name: str) -> Finding:
    return error(
        "args.missing",
        (name,),
        f"`{name}` is missing",
        fix=Fix(message=f"add `{name}`"),
    )


def _unknown(name: object, known: tuple[str, ...]) -> Finding:
    suggestion = nearest_name(name, known) if isinstance(name, str) else None
    return error(
        "args.unknown",
        (str(name),),
        "unknown argument",
        value=format_input(name),
        allowed=", ".join(known),
        fix=Fix(message=f"write `{suggestion}`" if suggestion else "remove it"),
    )


def _late(value: object, path: Path) -> Iterator[Finding]:
    """What is known only after a deployment: a plan can't be proved about it."""
    if isinstance(value, pulumi.Output | Unknown) or inspect.isawaitable(value):
        yield error(
            "args.late",
            path,
            "the value is an output, known only after a deployment, or a secret",
            value=type(value).__name__,
            allowed="a plain value: pools, quotas and the bill are proved before anything is made",
            fix=Fix(message="write the value itself, or read it from the stack's configuration"),
        )
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _late(inner, (*path, str(key)))
    elif isinstance(value, list | tuple):
        for index, inner in enumerate(value):
            yield from _late(inner, (*path, index))


def _plain(value: Any) -> Any:
    """The same tree of dictionaries and lists, whatever kinds of mapping it was made of."""
    if isinstance(value, Mapping):
        return {key: _plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    # The engine makes a time of a date without quotes; `gpuyard check` reads the date that the file has.
    if isinstance(value, str) and (day := _MIDNIGHT.fullmatch(value)):
        return day[1]
    return value
