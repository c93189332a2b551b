"""The add-ons of a stack file: charts, images, values and resources, from `addons.yaml`."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from gpuyard_core.catalogue.software.charts import Chart
from gpuyard_core.catalogue.sources import Source

ValuesPath = tuple[str, ...]
"""A path in a chart's values; empty: their root."""


@dataclass(frozen=True, slots=True)
class AddonImage:
    """An image that a chart runs."""

    at: ValuesPath
    """The path of its mapping in the values."""
    keys: tuple[str, ...]
    """The keys there: of the reference, of repository and tag, or of registry, repository and tag."""
    home: str
    """Registry and path."""
    pin: str
    tag: str
    """The project's tag format; {} is the version of the pin."""


@dataclass(frozen=True, slots=True)
class AddonChart:
    """A chart of an add-on, and where its values have images, placement and namespaces."""

    addon: str
    chart: Chart
    images: tuple[AddonImage, ...]
    values: Mapping[str, Any]
    """Values that differ from the chart's own."""
    places: tuple[ValuesPath, ...]
    """Paths of nodeSelector and tolerations."""
    namespaces: ValuesPath
    """The path of the namespaces of teams; empty if the controller watches every namespace."""
    separator: str
    """What separates these namespaces in a text; empty: they are a list."""
    owns_crds: bool
    """Whether Helm deletes its CRDs with it, and Kubernetes their objects."""
    monitors: Mapping[str, Any]
    """Values that need prometheus-operator."""
    labels: tuple[ValuesPath, ...]
    """The paths of the labels of these monitors."""


@dataclass(frozen=True, slots=True)
class AddonFacts:
    """What gpuyard installs for an add-on, and what teams may do with it."""

    name: str
    title: str
    namespace: str
    needs: tuple[str, ...]
    """Add-ons without which it does not work."""
    since: str
    """The oldest Kubernetes minor that it supports; empty if any that a stack may have."""
    kinds: Mapping[str, tuple[str, ...]]
    """Resources that members of teams may create, by API group."""
    groups: tuple[str, ...]
    """API groups that exist once its charts are installed."""
    accounts: tuple[str, ...]
    """Namespaces of controllers whose requests in a team's namespaces are checked as those of its members."""
    ports: tuple[int, ...]
    """Ports of pods of teams that its controller calls."""
    charts: tuple[AddonChart, ...]
    source: Source


@cache
def addon_facts() -> Mapping[str, AddonFacts]:
    """By name in a stack file."""
    text = Path(__file__).with_name("addons.yaml").read_text(encoding="utf-8")
    rows = yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506
    return {name: _facts(name, row) for name, row in rows.items()}


def _facts(name: str, row: Mapping[str, Any]) -> AddonFacts:
    given = row["source"]
    source = Source(
        given["title"], given["read"], verified=given.get("verified", True), as_of=given["as_of"]
    )
    return AddonFacts(
        name=name,
        title=row["title"],
        namespace=row["namespace"],
        needs=tuple(row.get("needs", ())),
        since=row.get("since", ""),
        kinds={group: tuple(plurals) for group, plurals in row.get("kinds", {}).items()},
        groups=(*row.get("kinds", {}), *row.get("groups", ())),
        accounts=tuple(row.get("accounts", ())),
        ports=tuple(row.get("ports", ())),
        charts=tuple(_chart(name, row["title"], source, each) for each in row["charts"]),
        source=source,
    )


def _chart(addon: str, title: str, source: Source, row: Mapping[str, Any]) -> AddonChart:
    return AddonChart(
        addon=addon,
        chart=Chart(
            name=row["name"],
            title=title,
            pin=row["pin"],
            registry=row.get("registry", ""),
            path=row["path"],
            image="",
            tag="",
            source=source,
            repository=row.get("repository", ""),
            version=row.get("version", "{}"),
        ),
        images=tuple(_image(row["pin"], each) for each in row.get("images", ())),
        values=row.get("values", {}),
        places=_paths(row, "places"),
        namespaces=tuple(row.get("namespaces", ())),
        separator=row.get("separator", ""),
        owns_crds=row.get("owns_crds", False),
        monitors=row.get("monitors", {}),
        labels=_paths(row, "labels"),
    )


def _image(pin: str, row: Mapping[str, Any]) -> AddonImage:
    keys = tuple(row.get("keys", ("repository", "tag")))
    return AddonImage(
        tuple(row["at"]), keys, row["home"], row.get("pin", pin), row.get("tag", "{}")
    )


def _paths(row: Mapping[str, Any], key: str) -> tuple[ValuesPath, ...]:
    return tuple(tuple(path) for path in row.get(key, ()))
