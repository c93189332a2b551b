"""Defects of recorded samples, as text and as documents."""

from datetime import datetime, tzinfo
from typing import Any

from gpuyard_advisor.cli.views.times import iso_time
from gpuyard_advisor.usage.hours import MEANING, DefectReport
from gpuyard_advisor.usage.samples import Labels


def defect_text(each: DefectReport, zone: tzinfo) -> str:
    """The series, the number, the time and the meaning of a defect."""
    first, last = local_time(each.first, zone), local_time(each.last, zone)
    when = first if first == last else f"{first} to {last}"
    where = f"{series_text(each.labels)}: {each.count:,} × {each.defect.value}"
    return f"{where} ({when}): {MEANING[each.defect]}"


def defect_document(each: DefectReport) -> dict[str, Any]:
    """The same as plain values; times are ISO 8601 in UTC."""
    return {
        "series": dict(each.labels),
        "defect": each.defect.value,
        "count": each.count,
        "first": iso_time(each.first),
        "last": iso_time(each.last),
    }


def series_text(labels: Labels) -> str:
    """A series as PromQL writes it: its name, and its other labels."""
    others = dict(labels)
    name = others.pop("__name__", "")
    return name + "{" + ", ".join(f'{key}="{value}"' for key, value in others.items()) + "}"


def local_time(time: float, zone: tzinfo) -> str:
    """A time in seconds since 1970 on the clock of a time zone."""
    return f"{datetime.fromtimestamp(time, zone):%Y-%m-%d %H:%M}"
