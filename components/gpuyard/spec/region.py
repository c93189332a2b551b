"""Region and project of a stack: the provider settings of its file."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial

from gpuyard_core.catalogue.cluster.names import PROJECT
from gpuyard_core.catalogue.purchasing import GCE_ZONE, REGIONS, ZONES
from gpuyard_core.catalogue.regions import region_names
from gpuyard_core.findings import Diagnostic, Fix, error
from gpuyard_core.suggestions import nearest_name

_KEYS: Mapping[str, tuple[str, ...]] = {"aws": ("aws:region",), "gcp": ("gcp:region", "gcp:zone")}
"""Config keys of the region by cloud; the first that is set applies."""
_PROJECTS: Mapping[str, str] = {"gcp": "gcp:project"}
"""Config key of the project by cloud, where the account is one."""
_PROFILE = "aws:profile"
_refuse = partial(error, "stack.region")


@dataclass(frozen=True, slots=True)
class Region:
    """A region and its source."""

    name: str
    source: str
    """`aws:region`, or the zone of a pool."""


@dataclass(frozen=True, slots=True)
class CloudAccount:
    """The account that a stack is deployed to, if its file sets it; empty if the environment does."""

    project: str = ""
    profile: str = ""


ENVIRONMENT = CloudAccount()


def account_from_config(config: Mapping[str, object]) -> CloudAccount:
    """The plain-text values in the configuration."""
    project, profile = (config.get(key) for key in (*_PROJECTS.values(), _PROFILE))
    return CloudAccount(
        project if isinstance(project, str) else "", profile if isinstance(profile, str) else ""
    )


def place_keys() -> tuple[str, ...]:
    """Every key that can set a region or a project."""
    return (*(key for keys in _KEYS.values() for key in keys), *_PROJECTS.values())


def region_of(
    config: Mapping[str, object], cloud: str, zones: Iterable[str] = ()
) -> tuple[Region | None, list[Diagnostic]]:
    """The region in a stack's configuration, or the findings on it; neither if none is set.

    For a misspelled region the fix prefers a region of `zones`, the zones of the pools.
    A value that is not text is a secret or an object, and unknown before a deployment.
    """
    regions: dict[str, str] = {}
    findings: list[Diagnostic] = []
    for key in _KEYS.get(cloud, ()):
        value, path = config.get(key), ("config", key)
        if not isinstance(value, str):
            continue
        is_zone = key.endswith(":zone")
        what, form = ("zone", GCE_ZONE) if is_zone else ("region", REGIONS[cloud])
        match = form.pattern.fullmatch(value)
        name = match["region"] if match and is_zone else value
        if match is None:
            refusal = _refuse(
                path,
                f"not the name of a {what} on {cloud}",
                given=value,
                allowed=f"a {what} such as {form.example}",
                fix=Fix(message=f"correct the {what}"),
            )
            findings.append(refusal)
        elif problem := unknown_region(name, cloud):
            suggestion = nearest_name(name, _regions_of(zones, cloud)) or problem[1]
            refusal = _refuse(
                path,
                problem[0],
                given=value,
                allowed=f"an existing region{f', such as {suggestion}' if suggestion else ''}",
                fix=Fix(message="correct the region; for a newer region, upgrade gpuyard"),
            )
            findings.append(refusal)
        else:
            regions[key] = name
    if len(set(regions.values())) > 1:
        region = regions["gcp:region"]
        refusal = _refuse(
            ("config", "gcp:zone"),
            f"this zone is not in {region}, the value of gcp:region",
            given=str(config["gcp:zone"]),
            allowed=f"a zone of {region}",
            fix=Fix(message="remove gcp:region or gcp:zone"),
        )
        findings.append(refusal)
    return next((Region(name, key) for key, name in regions.items()), None), findings


def _regions_of(zones: Iterable[str], cloud: str) -> list[str]:
    """The regions of these zones that the catalogue knows."""
    read = (ZONES[cloud].pattern.fullmatch(zone) for zone in zones)
    return [each["region"] for each in read if each and each["region"] in region_names(cloud)]


def unknown_region(name: str, cloud: str) -> tuple[str, str] | None:
    """The problem with an unknown region and the most similar name; None for a known region."""
    known = region_names(cloud)
    if name in known:
        return None
    return f"{name} is not a region of {cloud} that this version of gpuyard knows", nearest_name(
        name, known
    ) or ""


# ── the project ──────────────────────────────────────────────────────────────────────────────────────
def check_project(config: Mapping[str, object], cloud: str) -> list[Diagnostic]:
    """Check that a plain-text project in the configuration is a project id."""
    key = _PROJECTS.get(cloud, "")
    project = config.get(key)
    if not isinstance(project, str) or PROJECT.pattern.fullmatch(project):
        return []
    suggestion = re.sub(r"[^a-z0-9-]+", "-", project.lower()).strip("-")
    meant = f", such as {suggestion}" if PROJECT.pattern.fullmatch(suggestion) else ""
    return [
        error(
            "stack.project",
            ("config", key),
            f"not a project id of {cloud}; the id differs from the name",
            given=project,
            allowed=f"6 to 30 lower-case letters, digits and dashes, starting with a letter, such as {PROJECT.example}",
            fix=Fix(message=f"write the id that `gcloud projects list` shows{meant}"),
        )
    ]
