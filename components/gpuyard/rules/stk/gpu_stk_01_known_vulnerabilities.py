"""GPU-STK-01: nothing on the nodes has a published vulnerability."""

import re
from collections.abc import Iterator

from gpuyard.catalogue.cves import Advisory, branch_of, floor, known_vulnerabilities
from gpuyard.catalogue.software.versions import parse_version
from gpuyard.findings import Severity
from gpuyard.rules.rule import Parameters, Resource, Rule, Violation
from gpuyard.rules.subjects.components import VERSIONED_KINDS, ComponentVersion, components_in

_ONLY_A_BRANCH = re.compile(r"\d+(-|$)")
"""As of a precompiled driver: 535-5.15.0-1048-nvidia is the newest of its branch on the day it was built."""


def _check(resource: Resource, _: Parameters) -> Iterator[Violation]:
    for found in components_in(resource):
        if not _ONLY_A_BRANCH.match(found.version):
            yield from _vulnerable(found)


def _vulnerable(found: ComponentVersion) -> Iterator[Violation]:
    try:
        against = known_vulnerabilities(found.component, found.version)
    except ValueError:
        return  # a tag such as `latest` is no version; another rule is about those
    if not against:
        return
    remarks = [_remark(each, found) for each in against]
    worst, lowest = against[0], floor(found.component, branch_of(found.component, found.version))
    score = "" if worst.score is None else f" (score {worst.score})"
    more = f" and {len(against) - 1} more" if against[1:] else ""
    yield Violation(
        found.path,
        f"{found.component} {found.version} has {worst.cve}{score}{more},"
        f" NVIDIA bulletin {worst.bulletin}{remarks[0]}",
        f"take a version {lowest}"
        if lowest is not None and lowest.above
        else f"take {lowest} or later",
        severity=Severity.WARN if all(remarks) else None,
    )


def _remark(advisory: Advisory, found: ComponentVersion) -> str:
    """Who alone is affected, or why the bulletin may not mean this version; "" where it is plain."""
    given, fixed = (parse_version(found.component, v) for v in (found.version, advisory.fixed))
    remark = advisory.condition or (advisory.doubt if given >= fixed else None)
    return f": {remark}" if remark else ""


RULE = Rule(
    id="GPU-STK-01",
    title="No component is in a known-vulnerable range",
    severity=Severity.REFUSE,
    why="These run as root on every GPU node; several known faults lead from a container to the host.",
    fix="Take a version above the floor that NVIDIA's bulletins give.",
    sources=("NVIDIA/product-security CSAF files, as gpuyard.catalogue.cves has them",),
    kinds=VERSIONED_KINDS,
    check=_check,
)
