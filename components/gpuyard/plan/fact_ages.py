"""Catalogue facts of this platform that are older than their limit: one warning for each kind."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date

from gpuyard.plan.capacity.scaling import installs_autoscaler, installs_karpenter
from gpuyard.plan.draft import Draft
from gpuyard.plan.observability.stage import installs_monitoring
from gpuyard.plan.pools.gpu_operator import operator_parts
from gpuyard.plan.queueing.kueue import installs_kueue, installs_volcano
from gpuyard.plan.records import Bill
from gpuyard.plan.sharing.dra import installs_dra_driver_chart
from gpuyard.plan.software.pins import default_pins
from gpuyard.plan.workloads.addons import installed_addons
from gpuyard_core.catalogue.software.addons import addon_facts
from gpuyard_core.catalogue.software.ages import LIMITS
from gpuyard_core.catalogue.software.charts import (
    AUTOSCALER_CHART,
    DRA_DRIVER_CHART,
    EFA_PLUGIN,
    GPU_OPERATOR_CHART,
    KARPENTER_CHART,
    KUEUE_CHART,
    MONITORING_CHART,
    VOLCANO_CHART,
)
from gpuyard_core.findings import Diagnostic, Fix, Path, format_list, warning

Row = tuple[str, date]
"""The name of a fact, and the day it describes."""


@dataclass(frozen=True, slots=True)
class _Warning:
    """How the warning about one kind reads."""

    id: str
    path: Path
    risk: str
    """What may be wrong."""
    fix: str


_WARNINGS: Mapping[str, _Warning] = {
    "prices": _Warning(
        "prices.old",
        ("prices",),
        "current prices may differ",
        "write what you pay under `prices`, or upgrade gpuyard",
    ),
    "bulletins": _Warning(
        "bulletins.old",
        ("software",),
        "later vulnerabilities are not reported",
        "upgrade gpuyard; until then read NVIDIA's security bulletins published since",
    ),
    "pins": _Warning(
        "pins.old",
        ("software",),
        "newer versions may fix defects",
        "upgrade gpuyard, or write newer versions under `software`",
    ),
    "support windows": _Warning(
        "windows.old",
        ("kubernetes",),
        "dates may have changed",
        "upgrade gpuyard; until then check the date in the provider's release calendar",
    ),
}
AGE_WARNINGS = frozenset(each.id for each in _WARNINGS.values())
"""Ids of these warnings: they depend on date and release, and few stack changes remove one."""


def check_fact_ages(draft: Draft) -> Iterator[Diagnostic]:
    """One warning for each kind with facts past the limit; without a date no age is known."""
    if draft.today is None or not draft.provider.service:
        return
    from gpuyard_core.catalogue.cves import ADVISORIES
    from gpuyard_core.catalogue.software.support import WINDOWS

    minor, pins = draft.spec.kubernetes, list(_pins(draft))
    window = WINDOWS.get(draft.spec.cloud, {}).get(minor)
    rows_by_kind: Mapping[str, list[Row]] = {
        "prices": list(_prices(draft.bill)),
        # the table that every installed version is compared with
        "bulletins": [("NVIDIA's security bulletins", ADVISORIES.as_of)] if pins else [],
        "pins": pins,
        "support windows": [(f"Kubernetes {minor}", window.source.as_of)] if window else [],
    }
    for kind, rows in rows_by_kind.items():
        if old := [row for row in rows if (draft.today - row[1]).days > LIMITS[kind]]:
            words, limit = _WARNINGS[kind], LIMITS[kind]
            names = list(dict.fromkeys(name for name, _ in old))
            oldest = min(day for _, day in old)
            yield warning(
                words.id,
                words.path,
                f"{kind} older than {limit} days ({len(names)}): {format_list(names)}; {words.risk}",
                given=f"the oldest is from {oldest}, {(draft.today - oldest).days} days ago",
                allowed=f"at most {limit} days old",
                fix=Fix(message=words.fix),
            )


def _prices(bill: Bill) -> Iterator[Row]:
    """Every price in the totals that comes from the catalogue."""
    for line in bill.lines:
        for price in line.prices:
            if price.as_of:
                yield line.machine, price.as_of
    for commitment in bill.commitments:
        if commitment.as_of:
            years = f"{commitment.years} year{'' if commitment.years == 1 else 's'}"
            yield f"{commitment.machine} for {years}", commitment.as_of
    for fee in bill.fees:
        if fee.as_of:
            yield f"the {fee.service} cluster", fee.as_of


def _pins(draft: Draft) -> Iterator[Row]:
    """Every version that the platform installs and the stack file does not choose."""
    spec, pins = draft.spec, default_pins(draft.spec.kubernetes)
    for name in _installed(draft):
        if name not in spec.software:
            yield name, pins[name].source.as_of
    yield from draft.provider.node_image_dates(spec)


def _installed(draft: Draft) -> Iterator[str]:
    """Names of the installed pins; the pin of the GPU Operator includes its parts."""
    spec, pools = draft.spec, list(draft.valid_pools.values())
    operator = None if spec.queueing.clusters else operator_parts(spec, pools)
    is_installed = {
        KUEUE_CHART.pin: installs_kueue(spec),
        VOLCANO_CHART.pin: installs_volcano(spec),
        VOLCANO_CHART.image_pin: installs_volcano(spec),
        GPU_OPERATOR_CHART.pin: operator is not None and operator.install,
        KARPENTER_CHART.pin: installs_karpenter(spec),
        AUTOSCALER_CHART.image_pin: installs_autoscaler(spec),
        AUTOSCALER_CHART.pin: installs_autoscaler(spec),
        DRA_DRIVER_CHART.pin: installs_dra_driver_chart(spec),
        MONITORING_CHART.pin: installs_monitoring(spec),
        EFA_PLUGIN.pin: draft.provider.sells_machines
        and any(pool.machine.efa_interfaces for pool in pools),
    }
    yield from (name for name, installed in is_installed.items() if installed)
    for name in sorted(installed_addons(spec)):
        charts = addon_facts()[name].charts
        yield from dict.fromkeys(
            pin for each in charts for pin in (each.chart.pin, *(i.pin for i in each.images))
        )


# The linter and the policy pack evaluate the rules; this module checks the dates only.


def check_exceptions(draft: Draft) -> Iterator[Diagnostic]:
    """Report expired exceptions; without a date, none."""
    today, policies = draft.today, draft.spec.policies
    if today is None or policies is None:
        return
    over = [(i, each) for i, each in enumerate(policies.exceptions) if each.expires <= today]
    for index, each in over:
        yield warning(
            "policies.expired",
            ("policies", "exceptions", index),
            f"the exception to {each.rule} for {each.resource} expired on {each.expires}:"
            " the rule applies again",
            given=str(each.expires),
            allowed=f"a day after {today}",
            fix=Fix(
                message="remove it, or renew `reason` and `expires`",
                at=("policies", "exceptions", index),
            ),
        )
