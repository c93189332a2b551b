"""Add-ons: which are installed, who may use them, and what is wrong with the selection."""

from collections.abc import Iterator

from gpuyard.plan.draft import Draft
from gpuyard.plan.records import PlatformPlan, TeamPlan
from gpuyard.plan.renames import nearest_fix
from gpuyard.spec.platform import Cloud, PlatformSpec
from gpuyard.spec.sections import Addon, AddonName
from gpuyard_core.catalogue.software.addons import AddonFacts, addon_facts
from gpuyard_core.catalogue.software.pins import KUBERNETES_MINORS, is_before
from gpuyard_core.findings import Diagnostic, Fix, Path, error, format_list, warning


def installed_addons(spec: PlatformSpec) -> frozenset[str]:
    """The add-ons that gpuyard installs; none on a simulated cluster, whose pods run no program."""
    if spec.cloud is Cloud.SIMULATED:
        return frozenset()
    return frozenset(addon.name for addon in spec.addons if addon.install)


def teams_of(plan: PlatformPlan, name: str) -> tuple[TeamPlan, ...]:
    """The teams that may use an add-on; none if the cluster does not have it."""
    return tuple(team for team in plan.teams if name in addons_of(plan, team))


def addons_of(plan: PlatformPlan, team: TeamPlan) -> list[str]:
    """The add-ons that a team may use, in the order of the catalogue."""
    allowed: set[str] = {
        addon.name for addon in plan.spec.addons if not addon.teams or team.name in addon.teams
    }
    return [name for name in addon_facts() if name in allowed]


def add_addon_fix(spec: PlatformSpec, name: AddonName) -> Fix:
    """The fix that adds an add-on and those without which it does not run."""
    listed = spec.model_dump(mode="json", include={"addons"})["addons"]
    needed = [each for each in addon_facts()[name].needs if not spec.has_addon(AddonName(each))]
    added = [*needed, name.value]
    return Fix(
        message=f"add {format_list(added)} to addons", at=("addons",), value=[*listed, *added]
    )


def check_addons(draft: Draft) -> Iterator[Diagnostic]:
    """Reject add-ons that could not run, and teams that do not exist."""
    seen = set[str]()
    for index, addon in enumerate(draft.spec.addons):
        path: Path = ("addons", index)
        facts = addon_facts()[addon.name]
        if addon.name in seen:
            yield error(
                "addons.twice",
                path,
                "an earlier entry has the same add-on",
                given=facts.name,
                allowed="one entry for each add-on",
                fix=Fix.remove(path),
            )
            continue
        seen.add(addon.name)
        yield from _needs(draft, addon, facts, path)
        if addon.install:
            yield from _installable(draft, facts, path)
        if addon.name == AddonName.ARGO_WORKFLOWS:
            yield from _egress(draft, addon, path)


def _needs(draft: Draft, addon: Addon, facts: AddonFacts, path: Path) -> Iterator[Diagnostic]:
    """Add-ons and teams that do not exist."""
    for name in facts.needs:
        if not draft.spec.has_addon(name):
            yield error(
                "addons.needs",
                path,
                f"{facts.title} does not run without {addon_facts()[name].title}",
                given=facts.name,
                allowed=f"{facts.name} together with {name}",
                fix=Fix(
                    message=f"add {name}, or {{name: {name}, install: false}} if the cluster has it"
                ),
            )
    known = [team.name for team in draft.spec.teams]
    for index, name in enumerate(addon.teams):
        if name not in known:
            yield error(
                "addons.team",
                (*path, "teams", index),
                "no team has this name",
                given=name,
                allowed=format_list(known) or "no team; the platform has none",
                fix=nearest_fix(name, known, (*path, "teams", index)),
            )


def _installable(draft: Draft, facts: AddonFacts, path: Path) -> Iterator[Diagnostic]:
    spec = draft.spec
    if not facts.charts:
        yield error(
            "addons.chart",
            path,
            f"gpuyard cannot install {facts.title}: its project publishes no chart",
            given=facts.name,
            allowed=f"{{name: {facts.name}, install: false}}, if the cluster has it",
            fix=Fix(
                message="install it with the manifests of its project, and write install: false",
                at=path,
                value={"name": facts.name, "install": False},
            ),
        )
    minor = spec.kubernetes
    if facts.since and is_before(minor, facts.since):
        yield error(
            "addons.kubernetes",
            path,
            f"{facts.title} supports Kubernetes {facts.since} or later",
            given=f"Kubernetes {minor}",
            allowed=", ".join(KUBERNETES_MINORS[KUBERNETES_MINORS.index(facts.since) :]),
            fix=Fix(
                message=f'write kubernetes: "{facts.since}"', at=("kubernetes",), value=facts.since
            ),
        )
    if spec.mirror is not None and facts.name == AddonName.TEKTON:
        yield warning(
            "addons.mirror",
            path,
            "Tekton's operator pulls the images of Tekton Pipelines from ghcr.io: gpuyard does not list or mirror them",
            given=facts.name,
            allowed="nodes that can pull from ghcr.io, or a mirror that their container runtime is configured with",
            fix=Fix(message="configure containerd on system nodes and pools to use your mirror"),
        )


def _egress(draft: Draft, addon: Addon, path: Path) -> Iterator[Diagnostic]:
    """A container of Argo in each pod of a workflow reports its results to the API server."""
    common = draft.spec.admission.egress_cidrs if draft.spec.admission else ()
    closed = [
        team.name
        for team in draft.spec.teams
        if (not addon.teams or team.name in addon.teams) and not (team.egress_cidrs or common)
    ]
    if closed:
        yield warning(
            "addons.egress",
            path,
            "the pods of a workflow report to the API server, which these teams' network policies do not allow",
            given=format_list(closed),
            allowed="teams whose `egress_cidrs` have the address of the API server",
            fix=Fix(message="add the network of the API server: admission: {egress_cidrs: [CIDR]}"),
        )
