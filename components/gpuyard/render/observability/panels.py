"""Grafana's JSON of a dashboard and its panels, built with grafana-foundation-sdk.

Colours are those of Okabe and Ito, which readers with a colour vision deficiency can tell apart. Colour is never the only
difference: lines have dashes and a legend with values, and states have a text. Values have the colour of text, or
stand on the colour of their state, so that they can be read on light and dark.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import cycle
from typing import Any

from gpuyard.plan.records import PlatformPlan
from gpuyard.render.data_files import read_data
from gpuyard.render.observability.targets import Target, targets
from gpuyard.render.observability.templates import dashboard_uid, is_large

OKABE_ITO = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#999999")
_COLOURS = dict(
    zip(["blue", "orange", "green", "pink", "sky", "red", "yellow", "grey"], OKABE_ITO, strict=True)
)
_STATES = {
    state: _COLOURS[name]
    for state, name in {"ok": "green", "warn": "orange", "bad": "red", "plain": "blue"}.items()
}
_BACKGROUNDS = {**_STATES, "warn": "#F5B83D"}
"""The states as backgrounds: Grafana writes white on the orange of the lines, with too little contrast."""
_WIDTH = 24
"""Columns of Grafana's grid."""
_POINTS = 120
"""Columns of a heatmap: more cannot be told apart, and Grafana refuses cells below a pixel."""

_POINTS_WITH_TEXT = 12
"""Columns of a heatmap whose cells show a text."""


def _data() -> Mapping[str, Any]:
    found: Mapping[str, Any] = read_data("observability/panels.yaml")
    return found


def built_dashboard(
    plan: PlatformPlan, template: Mapping[str, Any], shown: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    """A dashboard in Grafana's JSON; `shown` are all dashboards that it can link to."""
    from grafana_foundation_sdk.builders import dashboard as sdk
    from grafana_foundation_sdk.cog.encoder import JSONEncoder

    urls = {each["name"]: (each["title"], dashboard_uid(plan, each["name"])) for each in shown}
    built = (
        sdk.Dashboard(f"{template['title']} – {plan.name}")
        .uid(dashboard_uid(plan, template["name"]))
        .description(template["description"])
        .tags(["gpuyard", plan.name])
        .refresh("1m")
        .time("now-12h", "now")
        .timezone("browser")
        .with_variable(sdk.DatasourceVariable("datasource").type("prometheus"))
        .links([_link(*url) for name, url in urls.items() if name != template["name"]])
    )
    for name in template["variables"]:
        built.with_variable(_variable(name, has_all=name != "node" or not is_large(plan)))
    for panel in _panels(plan, template, urls):
        built.with_panel(panel)
    found: dict[str, Any] = json.loads(json.dumps(built.build(), cls=JSONEncoder, sort_keys=True))
    return found


def _link(title: str, uid: str) -> Any:
    from grafana_foundation_sdk.builders.dashboard import DashboardLink
    from grafana_foundation_sdk.models.dashboard import DashboardLinkType

    link = DashboardLink(title).type(DashboardLinkType.LINK).url(f"/d/{uid}")
    return link.include_vars(True).keep_time(True)  # noqa: FBT003


def _source() -> Any:
    from grafana_foundation_sdk.models.dashboard import DataSourceRef

    return DataSourceRef(type_val="prometheus", uid="${datasource}")


def _variable(name: str, *, has_all: bool) -> Any:
    """A template variable; all of its values are selected at first, or the first one."""
    from grafana_foundation_sdk.builders.dashboard import QueryVariable
    from grafana_foundation_sdk.models.dashboard import VariableOption, VariableRefresh

    built = (
        QueryVariable(name)
        .query(_data()["variables"][name])
        .datasource(_source())
        .multi(True)  # noqa: FBT003
        .refresh(VariableRefresh.ON_TIME_RANGE_CHANGED)
    )
    if has_all:
        every = VariableOption(text="All", value="$__all")
        built.include_all(True).all_value(".*").current(every)  # noqa: FBT003
    return built


def _panels(
    plan: PlatformPlan, template: Mapping[str, Any], urls: Mapping[str, tuple[str, str]]
) -> Iterator[Any]:
    """The panels of all rows, each row as wide as the grid."""
    from grafana_foundation_sdk.models.dashboard import GridPos

    top, number = 0, 0
    for row in template["rows"]:
        edges = [_WIDTH * index // len(row["panels"]) for index in range(len(row["panels"]) + 1)]
        for left, right, panel in zip(edges, edges[1:], row["panels"], strict=False):
            number += 1
            place = GridPos(x=left, y=top, w=right - left, h=row["height"])
            built = _panel(plan, panel).grid_pos(place).id(number)
            yield built.links([_link(*urls[name]) for name in [panel.get("link")] if name in urls])
        top += row["height"]


def _panel(plan: PlatformPlan, panel: Mapping[str, Any]) -> Any:
    from grafana_foundation_sdk.builders import dashboard as sdk

    kind = panel["kind"]
    type_name, options, custom = _data()["kinds"][kind].values()
    thresholds = _thresholds(plan, panel)
    if "mappings" in panel:
        options = {**options, "showValue": "auto"}
    if kind == "stat" and len(thresholds) > 1:
        options = {**options, "colorMode": "background_solid"}
    built = sdk.Panel().type(type_name).options(options).custom(custom).datasource(_source())
    built.title(panel["title"]).description(panel["description"]).unit(panel["unit"])
    if "decimals" in panel:
        built.decimals(panel["decimals"])
    if kind == "heatmap":
        built.max_data_points(_POINTS_WITH_TEXT if "mappings" in panel else _POINTS)
    if kind == "table":
        built.with_transformation(_columns(panel))
    if kind != "stat":
        _set_limits(built, panel)
    built.color_scheme(_colour_scheme(panel)).thresholds(
        _steps(thresholds, _BACKGROUNDS if kind == "stat" else _STATES)
    )
    if "mappings" in panel:
        built.mappings([_mapping(panel["mappings"])])
    for target in _targets(panel):
        built.with_target(target)
    if kind in {"lines", "stacked"}:
        _set_looks(built, plan, panel)
    return built


def _set_limits(built: Any, panel: Mapping[str, Any]) -> None:
    """The ends of the axis: from zero, to one for a ratio."""
    low, high = panel.get("range", (0, 1 if panel["unit"] == "percentunit" else None))
    built.min(low)
    if high is not None:
        built.max(high)


def _set_looks(built: Any, plan: PlatformPlan, panel: Mapping[str, Any]) -> None:
    """Colours and dashes of known names, or those of each query, whose series have shades of its colour."""
    from grafana_foundation_sdk.models.dashboard import DynamicConfigValue

    for name, properties in _series(plan, panel):
        built.override_by_name(name, properties)
    looks = zip("ABC", OKABE_ITO, _data()["dashes"], strict=False)
    for letter, colour, dash in looks if "series" not in panel else ():
        shades = DynamicConfigValue("color", {"mode": "shades", "fixedColor": colour})
        built.override_by_query(letter, [shades, _dash(dash)])


def _columns(panel: Mapping[str, Any]) -> Any:
    """No column for the time, and the legend as the name of the value's column."""
    from grafana_foundation_sdk.models.dashboard import DataTransformerConfig

    (legend,) = panel["queries"]
    options = {"excludeByName": {"Time": True}, "renameByName": {"Value": legend}}
    return DataTransformerConfig(id_val="organize", options=options)


def _targets(panel: Mapping[str, Any]) -> Iterator[Any]:
    from grafana_foundation_sdk.builders.prometheus import Dataquery
    from grafana_foundation_sdk.models.prometheus import PromQueryFormat

    for letter, (legend, query) in zip("ABCDEFGH", panel["queries"].items(), strict=False):
        target = Dataquery().expr(query).legend_format(legend).ref_id(letter)
        if panel["kind"] == "table":
            target.format(PromQueryFormat.TABLE)
        yield target.instant() if panel["kind"] in {"table", "bars"} else target.range()


def _colour_scheme(panel: Mapping[str, Any]) -> Any:
    from grafana_foundation_sdk.builders.dashboard import FieldColor
    from grafana_foundation_sdk.models.dashboard import FieldColorModeId as Mode

    is_lines = panel["kind"] in {"lines", "stacked"}
    gradient = Mode.CONTINUOUS_BLUES if panel["kind"] == "heatmap" else Mode.THRESHOLDS
    mode = Mode.THRESHOLDS if "mappings" in panel else gradient
    return FieldColor().mode(Mode.PALETTE_CLASSIC if is_lines else mode)


def _mapping(texts: Mapping[int, str]) -> Any:
    from grafana_foundation_sdk.models.dashboard import ValueMap, ValueMappingResult

    colours = {text: _COLOURS[name] for text, name in _data()["verdicts"].items()}
    return ValueMap(
        {str(v): ValueMappingResult(text=t, color=colours[t], index=v) for v, t in texts.items()}
    )


def _thresholds(plan: PlatformPlan, panel: Mapping[str, Any]) -> Mapping[str, float | None]:
    return panel.get("steps") or _target_steps(plan, panel.get("target", ""))


def _steps(steps: Mapping[str, float | None], colours: Mapping[str, str]) -> Any:
    from grafana_foundation_sdk.builders.dashboard import ThresholdsConfig
    from grafana_foundation_sdk.models.dashboard import Threshold, ThresholdsMode

    listed = [Threshold(value=value, color=colours[state]) for state, value in steps.items()]
    return ThresholdsConfig().mode(ThresholdsMode.ABSOLUTE).steps(listed)


def _target_steps(plan: PlatformPlan, target: str) -> Mapping[str, float | None]:
    """The state from each value on, by the targets of the stack file; one plain state without them."""
    targets = plan.spec.targets
    plain: Mapping[str, float | None] = {"plain": None}
    if targets is None or not target:
        return plain
    if target == "utilisation" and targets.utilisation_percent:
        return {"warn": None, "ok": targets.utilisation_percent.low / 100}
    if target == "memory" and targets.memory_percent:
        return {"warn": None, "ok": targets.memory_percent / 100}
    if target == "idle" and targets.idle_percent:
        return {"ok": None, "bad": targets.idle_percent / 100}
    if target == "wait" and targets.wait_p95_minutes:
        low, *_, high = sorted([*targets.wait_p95_minutes.values()] * 2)
        return {"ok": None, "warn": low * 60, **({"bad": high * 60} if high > low else {})}
    return plain


def _series(plan: PlatformPlan, panel: Mapping[str, Any]) -> Iterator[tuple[str, list[Any]]]:
    """The colour and dash of each series whose name the plan knows."""
    from grafana_foundation_sdk.models.dashboard import DynamicConfigValue

    known = _known(plan, panel["series"]) if "series" in panel else {}
    for name, (colour, dash) in known.items():
        yield (
            name,
            [
                DynamicConfigValue("color", {"mode": "fixed", "fixedColor": colour}),
                _dash(dash),
            ],
        )


def _dash(dash: Mapping[str, Any]) -> Any:
    from grafana_foundation_sdk.models.dashboard import DynamicConfigValue

    return DynamicConfigValue("custom.lineStyle", dash)


def _known(plan: PlatformPlan, series: str) -> Mapping[str, tuple[str, Mapping[str, Any]]]:
    solid, *_ = dashes = _data()["dashes"]
    if series == "part":
        parts = _data()["parts"].items()
        return {name: (_COLOURS[colour], solid) for name, colour in parts}
    if series in {"target", "wait"}:
        return _with_limits(
            each for each in targets(plan) if bool(each.priority) == (series == "wait")
        )
    names = {
        "pool": [*(pool.name for pool in plan.pools), "system", "commitment"],
        "team": [*(team.name for team in plan.teams), "unassigned"],
        "queue": [team.cluster_queue for team in plan.teams],
        "priority": [*plan.spec.priorities],
        "slice": [
            "GPU ",
            *dict.fromkeys(f"GPU {u.unit}" for p in plan.pools for u in p.advertised),
        ],
        **_data()["names"],
    }[series]
    looks = cycle([(colour, dash) for dash in dashes for colour in OKABE_ITO])
    return dict(zip(dict.fromkeys(names), looks, strict=False))


def _with_limits(found: Iterable[Target]) -> Mapping[str, tuple[str, Mapping[str, Any]]]:
    """What is measured, and with dashes in the same colour its targets."""
    solid, dashed, _ = _data()["dashes"]
    limits = [(each.priority or each.name.partition("_")[0], each) for each in found]
    colours = dict(zip(dict.fromkeys(name for name, _ in limits), cycle(OKABE_ITO), strict=False))
    return {
        text: look
        for name, each in limits
        for text, look in (
            (name, (colours[name], solid)),
            (f"{each.priority or each.name}, target", (colours[name], dashed)),
        )
    }
