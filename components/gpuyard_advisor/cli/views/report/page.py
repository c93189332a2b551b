"""The page: header, key figures, and the sections."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from datetime import date
from importlib.resources import files

from gpuyard.cli.views.documents import money
from gpuyard.cli.views.findings import MAX_SHOWN
from gpuyard.plan.money.savings import to_monthly_total
from gpuyard.plan.records import PlatformPlan, ShapePlan
from gpuyard.plan.records.queues import Quota
from gpuyard.stack_validation import ValidatedStack
from gpuyard_advisor.cli.views.report.bill import bill_section
from gpuyard_advisor.cli.views.report.html import (
    FOLD_FROM,
    Cell,
    Element,
    bar,
    el,
    fold,
    legend,
    section,
    table,
    to_html,
)
from gpuyard_advisor.cli.views.report.live import NO_DATA, live_section
from gpuyard_advisor.cli.views.report.pools import pools_section
from gpuyard_advisor.usage.fleet import Fleet
from gpuyard_core.findings import Diagnostic, format_list
from gpuyard_core.terminal.findings import count_words
from gpuyard_core.terminal.text import pluralize, usd

POLICY = "default-src 'none'; style-src 'unsafe-inline'"
"""The content security policy: the page may load nothing and run nothing."""


def report_page(
    judged: ValidatedStack,
    plan: PlatformPlan | None,
    day: date,
    fleet: Fleet | None = None,
    address: str = "",
) -> str:
    """The report of a stack. Without a plan it has the findings alone."""
    name = plan.name if plan else judged.file
    return html_page(
        f"{name}: GPU platform",
        _header(judged, plan, day),
        _figures(judged, plan, fleet),
        [*_sections(judged, plan, fleet, address)],
        f"Made by gpuyard report from {judged.file} on {day}.",
    )


def html_page(
    title: str, header: Element, figures: Element, sections: list[Element], footer: str
) -> str:
    """A page of sections with their navigation, without a script and without a request."""
    body = el(
        "body",
        None,
        el("a", {"class": "skip", "href": "#main"}, "Skip to the content"),
        _patterns(),
        header,
        _navigation(sections),
        el("main", {"id": "main", "tabindex": "-1"}, figures, *sections),
        el("footer", None, footer),
    )
    return to_html(el("html", {"lang": "en"}, _head(title), body))


def _sections(
    judged: ValidatedStack, plan: PlatformPlan | None, fleet: Fleet | None, address: str
) -> Iterator[Element]:
    if plan is not None and fleet is not None:
        yield live_section(fleet, address)
    if plan is not None:
        yield pools_section(plan, fleet)
        yield quotas_section(plan)
        yield bill_section(plan)
    yield findings_section(judged)
    if plan is not None and plan.shapes:
        yield shapes_section(plan)


def _head(title: str) -> Element:
    style = (
        files("gpuyard_advisor.cli.views.report").joinpath("report.css").read_text(encoding="utf-8")
    )
    return el(
        "head",
        None,
        el("meta", {"charset": "utf-8"}),
        el("meta", {"http-equiv": "Content-Security-Policy", "content": POLICY}),
        el("meta", {"name": "viewport", "content": "width=device-width, initial-scale=1"}),
        el("meta", {"name": "color-scheme", "content": "light dark"}),
        el("meta", {"name": "referrer", "content": "no-referrer"}),
        el("title", None, title),
        _style(style),
    )


def _style(text: str) -> Element:
    """The style sheet of the package; it is written as it is."""
    result = el("style")
    result.text = text
    return result


def _patterns() -> Element:
    """Hatches, so that colour is never the only difference between areas."""
    hatches = (("lent-p", "M0 6L6 0"), ("none-p", "M0 0L6 6"), ("share-p", "M3 0V6"))
    patterns = (
        el(
            "pattern",
            {"id": key, "width": 6, "height": 6, "patternUnits": "userSpaceOnUse"},
            el("rect", {"class": f"{key}-bg", "width": 6, "height": 6}),
            el("path", {"class": f"{key}-line", "d": d}),
        )
        for key, d in hatches
    )
    defs = el("defs", None, *patterns)
    return el("svg", {"width": 0, "height": 0, "class": "defs", "aria-hidden": "true"}, defs)


def _header(judged: ValidatedStack, plan: PlatformPlan | None, day: date) -> Element:
    time = el("time", {"datetime": str(day)}, str(day))
    if plan is None:
        where = f"{judged.file}: no plan, because a finding is an error. "
        return el("header", None, el("h1", None, judged.file), el("p", None, where, time))
    place = f" in {plan.region}" if plan.region else ""
    text = f"GPU platform on {plan.cloud}{place}, Kubernetes {plan.kubernetes}, {judged.file}, "
    return el("header", None, el("h1", None, plan.name), el("p", None, text, time))


def _navigation(sections: list[Element]) -> Element:
    links = (el("a", {"href": f"#{each.get('id')}"}, each[0].text) for each in sections)
    return el("nav", {"aria-label": "Sections"}, *links)


def _figures(judged: ValidatedStack, plan: PlatformPlan | None, fleet: Fleet | None) -> Element:
    """The key figures."""
    shown: list[tuple[str, str]] = []
    if plan is not None:
        first = sum(p.gpus_per_node * p.start_nodes for p in plan.pools)
        most = sum(p.gpus_per_node * p.nodes.high for p in plan.pools)
        gpus = f"{most:,}" if first == most else f"{first:,} to {most:,}"
        teams = pluralize(len(plan.teams), "team")
        shown += [
            ("GPUs", f"{gpus}|{pluralize(len(plan.pools), 'pool')}, {teams}"),
            ("expected", _month(plan, "expected")),
            ("at most", _month(plan, "maximum")),
        ]
    if fleet is not None:
        held = [r.allocated for r in fleet.pools if r.allocated is not None]
        used = [r.used for r in fleet.pools if r.used is not None]
        idle = [r.idle_usd for r in fleet.pools if r.idle_usd is not None]
        use = f"{sum(used):,.4g} used" if used else "use: no data"
        shown += [
            ("allocated", f"{sum(held):,.4g} GPUs|{use}" if held else NO_DATA),
            ("idle", f"{usd(sum(idle))} $/hour|allocated or not" if idle else NO_DATA),
        ]
    shown.append(("findings", count_words(judged.findings)))
    return figure_list(shown)


def figure_list(figures: Iterable[tuple[str, str]]) -> Element:
    """Names and values; a value may have a second line after `|`."""
    return el("dl", {"class": "figures"}, *(_figure(name, value) for name, value in figures))


def _month(plan: PlatformPlan, case: str) -> str:
    total = getattr(plan.bill, case)
    month = money(to_monthly_total(total), nodes=False)
    return f"{month} $/month|{money(total, nodes=False)} $/hour"


def _figure(name: str, value: str) -> Element:
    first, _, second = value.partition("|")
    return el(
        "div",
        None,
        el("dt", None, name),
        el("dd", None, first, el("small", None, second) if second else None),
    )


def findings_section(judged: ValidatedStack) -> Element:
    """Every finding, the most severe first; many are folded."""
    shown = [_finding(judged, each) for each in judged.findings[:MAX_SHOWN]]
    body = [el("div", {"class": "grid"}, *shown[:FOLD_FROM])]
    if len(shown) > FOLD_FROM:
        rest = el("div", {"class": "grid"}, *shown[FOLD_FROM:])
        body.append(fold(f"{len(shown) - FOLD_FROM:,} more findings", rest))
    if (more := len(judged.findings) - MAX_SHOWN) > 0:
        body.append(el("p", {"class": "note"}, f"… and {more:,} more; `gpuyard check` lists all."))
    return section("findings", "Findings", _note(judged.findings), *body)


def _note(findings: Sequence[Diagnostic]) -> str:
    return count_words(findings).capitalize() + "."


def _finding(judged: ValidatedStack, found: Diagnostic) -> Element:
    line = judged.line_of(found)
    facts = (
        ("given", found.given),
        ("allowed", found.allowed),
        ("fix", found.fix_message),
        ("in", f"{judged.file}:{line}" if line else judged.file),
        ("more", found.docs_url),
    )
    rows = [
        item
        for name, text in facts
        if text
        for item in (el("dt", None, name), el("dd", None, text))
    ]
    head = el(
        "h3",
        None,
        el("span", {"class": f"badge {found.severity.value}"}, found.severity.value),
        el("code", None, found.where),
    )
    return el(
        "article", {"class": "finding"}, head, el("p", None, found.problem), el("dl", None, *rows)
    )


_HEADS = ("team", "quota", "guarantee", "may borrow", "lends")


def quotas_section(plan: PlatformPlan) -> Element:
    """A table for each resource of each pool that has a quota."""
    by_resource: dict[tuple[str, str], list[tuple[str, Quota]]] = defaultdict(list)
    for team in plan.teams:
        for quota in team.quotas:
            if quota.nominal or quota.borrow:
                by_resource[quota.pool, quota.resource].append((team.name, quota))
    spare = {(q.pool, q.resource): q.nominal for q in plan.queueing.unassigned if q.nominal}
    keys = [
        (pool.name, offer.resource)
        for pool in plan.pools
        for offer in pool.counted_resources
        if (pool.name, offer.resource) in by_resource or (pool.name, offer.resource) in spare
    ]
    tables = [_resource(plan, key, by_resource[key], spare.get(key, 0)) for key in keys]
    shown = [el("div", {"class": "grid"}, *tables[:FOLD_FROM])]
    if len(tables) > FOLD_FROM:
        rest = el("div", {"class": "grid"}, *tables[FOLD_FROM:])
        shown.append(fold(f"{len(tables) - FOLD_FROM:,} more resources", rest))
    note = f"{pluralize(len(plan.teams), 'team')}. Preemption: {plan.queueing.preemption}."
    return section("quotas", "Quotas and borrowing", note, _key(), *shown)


def _key() -> Element:
    return legend(
        ("full", "guaranteed, kept"),
        ("lent", "guaranteed, lent while unused"),
        ("may", "may be borrowed"),
    )


def _resource(
    plan: PlatformPlan, key: tuple[str, str], quotas: list[tuple[str, Quota]], spare: int
) -> Element:
    pool = plan.pool(key[0])
    named = pool.stack_file_key(key[1])
    total = sum(q.nominal for _, q in quotas) + spare
    scale = max([total, *(q.nominal + q.borrow for _, q in quotas)])
    rows = [*_teams(quotas, scale)]
    if spare:
        rows.append(("unassigned", bar([("lent", spare)], scale), f"{spare:,}", "–", f"{spare:,}"))
    return table(f"{named}: {total:,} in all", _HEADS, rows, (2, 3, 4))


def _teams(quotas: list[tuple[str, Quota]], scale: float) -> Iterator[tuple[Cell, ...]]:
    for team, q in quotas:
        lent = q.nominal if q.lend is None else min(q.lend, q.nominal)
        parts = [("full", q.nominal - lent), ("lent", lent), ("may", q.borrow)]
        yield team, bar(parts, scale), f"{q.nominal:,}", f"{q.borrow:,}", f"{lent:,}"


def shapes_section(plan: PlatformPlan) -> Element:
    """A row for each shape."""
    rows = [_row(plan, shape) for shape in plan.shapes]
    heads = ("shape", "starts in", "takes", "start", "teams with quota", "within their guarantee")
    return section("shapes", "Shapes", "Each of them can start.", table("Shapes", heads, rows))


def _row(plan: PlatformPlan, shape: ShapePlan) -> tuple[Cell, ...]:
    pool = plan.pool(shape.pool)
    unit = pool.stack_file_key(shape.resource).partition("/")[2]
    takes = f"{pluralize(shape.nodes, 'node')} × {shape.per_node} {unit or 'GPU'}"
    missing = shape.nodes - pool.start_nodes
    start = f"{pluralize(missing, 'node')} first" if shape.scales_from_zero else "at once"
    teams = format_list(shape.teams) or "–"
    return shape.name, shape.pool, takes, start, teams, format_list(shape.guaranteed) or "–"
