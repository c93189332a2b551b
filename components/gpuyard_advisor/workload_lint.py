"""A file with workloads of teams, checked next to the namespaces and queues of these teams."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from posixpath import dirname, join
from typing import Any

from gpuyard.plan.records import PlatformPlan, TeamPlan
from gpuyard.render.teams import team_objects
from gpuyard_core.manifests.fields import mapping
from gpuyard_core.yaml_tree import Document
from gpuyard_lint.ignores import parse_ignores
from gpuyard_lint.items import FileLocation, Item
from gpuyard_lint.kubernetes import resource
from gpuyard_lint.read import read
from gpuyard_lint.report import Report, build_report
from gpuyard_lint.rules import RULES
from gpuyard_lint.rules.rule import Resource
from gpuyard_lint.rules.run import DEFAULT_CONFIGURATION, RuleConfiguration

_KINDS = frozenset({"Namespace", "LocalQueue", "ResourceQuota"})
"""Kinds of a team's objects that rules about workloads read."""


def lint_workloads(
    plan: PlatformPlan,
    teams: Iterable[TeamPlan],
    data: bytes,
    file: str,
    *,
    namespace: str = "",
    settings: RuleConfiguration = DEFAULT_CONFIGURATION,
) -> Report:
    """The findings of a file; `namespace` is that of objects without one."""
    reading = read(data, file)
    items = (
        *(
            replace(item, resource=_in_namespace(item.resource, namespace))
            for item in reading.items
        ),
        *_platform_items(plan, teams, file),
    )
    ignores = parse_ignores(data, file)
    report = build_report(replace(reading, items=items), RULES, settings, ignores)
    return replace(report, hits=tuple(hit for hit in report.hits if hit.file == file))


def object_title(value: Mapping[str, Any], namespace: str) -> str:
    """The object as findings name it."""
    return _in_namespace(resource({"apiVersion": "", **value}), namespace).title


def _in_namespace(found: Resource, namespace: str) -> Resource:
    if found.namespace or not namespace:
        return found
    metadata = {**mapping(found.properties, "metadata"), "namespace": namespace}
    return replace(found, properties={**found.properties, "metadata": metadata})


def _platform_items(plan: PlatformPlan, teams: Iterable[TeamPlan], file: str) -> Iterator[Item]:
    """Objects of the teams, as if they were in another file of the same folder."""
    place = FileLocation(join(dirname(file), "gpuyard-platform.yaml"), Document(None, {}))
    for team in teams:
        for value in team_objects(plan, team):
            if value["kind"] in _KINDS:
                yield Item(resource(value, place.file), place)
