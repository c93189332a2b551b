"""The charts of `addons`, with values from the catalogue and the plan.

Controllers run on system nodes. Those that can watch a list of namespaces watch those of teams that may use the
add-on.
"""

from collections.abc import Iterator
from copy import deepcopy
from typing import Any

from gpuyard.plan.records import PlatformPlan, TeamPlan
from gpuyard.plan.workloads.addons import installed_addons, teams_of
from gpuyard.render.addons import Addon
from gpuyard.render.charts import Release, chart_release, merge_values
from gpuyard.render.objects import Object, managed_object, namespace_object, system_placement
from gpuyard.render.pulled_image import PulledImage, published_image
from gpuyard.spec.sections import AddonName
from gpuyard_core.catalogue.software.addons import (
    AddonChart,
    AddonFacts,
    AddonImage,
    addon_facts,
)
from gpuyard_core.names import (
    ARGO_CD_NAMESPACE,
    DEPLOY_ACCOUNT,
    POD_SECURITY_LABEL,
)

_IN_CLUSTER = "https://kubernetes.default.svc"


def chart_addons() -> Iterator[Addon]:
    """One add-on for each chart, after the charts that it needs."""
    facts = addon_facts()
    for each in facts.values():
        before = [chart.chart.name for name in each.needs for chart in facts[name].charts]
        for chart in each.charts:
            teams = ("teams",) if chart.namespaces else ()
            monitoring = ("monitoring",) if chart.monitors else ()
            yield _addon(each, chart, (*monitoring, *teams, *before))
            before = [chart.chart.name]


def _addon(facts: AddonFacts, chart: AddonChart, after: tuple[str, ...]) -> Addon:
    is_first = chart is facts.charts[0]

    def objects(plan: PlatformPlan) -> list[Object]:
        if not is_first or facts.name not in installed_addons(plan.spec):
            return []
        return [namespace_object(plan.name, facts.namespace, {POD_SECURITY_LABEL: "restricted"})]

    def release(plan: PlatformPlan) -> Release | None:
        if facts.name not in installed_addons(plan.spec):
            return None
        return chart_release(plan, chart.chart, facts.namespace, _values(plan, chart))

    def images(plan: PlatformPlan) -> Iterator[PulledImage]:
        if facts.name in installed_addons(plan.spec):
            yield from (_pulled(plan, chart, image) for image in chart.images)

    return Addon(chart.chart.name, objects, release, images, after)


def _values(plan: PlatformPlan, chart: AddonChart) -> dict[str, Any]:
    values = deepcopy(dict(chart.values))
    observed = plan.observability
    if chart.monitors and observed is not None and observed.has_operator:
        merge_values(values, (), deepcopy(chart.monitors))
        for path in chart.labels:
            merge_values(values, path, observed.labels)
    for path in chart.places:
        merge_values(values, path, system_placement(plan))
    for image in chart.images:
        merge_values(values, image.at, _image_values(_pulled(plan, chart, image), image.keys))
    if chart.namespaces:
        path, key = chart.namespaces[:-1], chart.namespaces[-1]
        teams = teams_of(plan, chart.addon)
        spaces = [space.name for team in teams for space in team.namespaces]
        joined = chart.separator.join(spaces) if chart.separator else spaces
        merge_values(values, path, {key: joined})
    return values


def _pulled(plan: PlatformPlan, chart: AddonChart, image: AddonImage) -> PulledImage:
    tag = image.tag.format(plan.software[image.pin])
    return published_image(plan, image.home, tag, chart.chart.title)


def _image_values(image: PulledImage, keys: tuple[str, ...]) -> dict[str, str]:
    tag = f"{image.tag}@{image.digest}" if image.digest else image.tag
    registry, _, path = image.repository.partition("/")
    parts = {1: (image.reference,), 2: (image.repository, tag), 3: (registry, path, tag)}
    return dict(zip(keys, parts[len(keys)], strict=True))


def project_objects(plan: PlatformPlan) -> list[Object]:
    """A project of Argo CD for each team: its namespaces only, with the permissions of its account for deployments."""
    if AddonName.ARGO_CD not in installed_addons(plan.spec):
        return []
    return [_project(plan, team) for team in teams_of(plan, AddonName.ARGO_CD)]


def _project(plan: PlatformPlan, team: TeamPlan) -> Object:
    spaces = [space.name for space in team.namespaces]
    targets = [{"server": _IN_CLUSTER, "namespace": space} for space in spaces]
    spec = {
        "sourceRepos": ["*"],
        "sourceNamespaces": spaces,
        "destinations": targets,
        "clusterResourceWhitelist": [],
        "destinationServiceAccounts": [
            {**target, "defaultServiceAccount": f"{target['namespace']}:{DEPLOY_ACCOUNT}"}
            for target in targets
        ],
    }
    return managed_object(
        plan.name,
        "argoproj.io/v1alpha1",
        "AppProject",
        team.stable_name,
        namespace=ARGO_CD_NAMESPACE,
        spec=spec,
    )


def tekton_objects(plan: PlatformPlan) -> list[Object]:
    """The configuration by which Tekton's operator installs Tekton Pipelines.

    Its affinity assistant is off: its pods are in no queue. Containers of Tekton get a security context, without
    which a namespace with Pod Security `restricted` rejects the pods.
    """
    if AddonName.TEKTON not in installed_addons(plan.spec):
        return []
    spec = {
        "profile": "lite",
        "targetNamespace": "tekton-pipelines",
        "config": system_placement(plan),
        "pipeline": {"coschedule": "disabled", "set-security-context": True},
    }
    return [
        managed_object(
            plan.name, "operator.tekton.dev/v1alpha1", "TektonConfig", "config", spec=spec
        )
    ]
