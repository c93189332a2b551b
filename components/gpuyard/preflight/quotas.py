"""Quotas of an account compared with the plan's requirements."""

from collections.abc import Iterable
from typing import Any

from gpuyard.preflight.probes import ProbeResult, SkippedProbe
from gpuyard.preflight.quota_requirements import QuotaRequirement
from gpuyard.preflight.zones import probe_result
from gpuyard_core.findings import Fix, error, warning


def check_quota(want: QuotaRequirement, name: str, free: float, ask: str) -> ProbeResult:
    """Compare a quota with the plan's requirement."""
    if want.maximum <= free:
        return probe_result(
            said=f"{name}: {free:g} available, {want.subject} use at most {want.maximum}"
        )
    value = f"{want.subject}: {want.minimum} minimum, {want.maximum} maximum"
    instead = f", or {want.alternative}" if want.alternative else ""
    fix = Fix(message=f"request {want.maximum - free:g} more{instead}: {ask}")
    if want.minimum > free:
        problem = f"the account's quota is too small for {want.nodes}: {name}"
        return probe_result(
            error("live.quota", want.path, problem, given=value, allowed=f"{free:g}", fix=fix)
        )
    problem = f"the account's quota is smaller than the plan's maximum: {name}"
    return probe_result(
        warning("live.quota", want.path, problem, given=value, allowed=f"{free:g}", fix=fix)
    )


def gcp_quota_findings(
    wants: Iterable[QuotaRequirement],
    quotas: list[Any] | None,
    *,
    deployed: bool,
    whose: str,
    place: str = "",
) -> ProbeResult | None:
    """Compare Google Cloud quotas, minus their usage by others than the deployed platform."""
    if quotas is None:
        return None
    quotas_by_metric = {str(each.get("metric")): each for each in quotas}
    result = ProbeResult()
    for want in wants:
        metric = next((name for name in want.quotas if name in quotas_by_metric), None)
        limit, usage = (
            quotas_by_metric[metric].get(key) if metric else None for key in ("limit", "usage")
        )
        if (
            metric is None
            or not isinstance(limit, int | float)
            or not isinstance(usage, int | float)
        ):
            why = f"the {whose} has no {' or '.join(want.quotas) or 'quota that gpuyard knows'}"
            result += ProbeResult(
                skipped=(SkippedProbe(f"quota for {want.subject}", why, is_expected=True),)
            )
            continue
        used_by_others = 0 if deployed else usage
        ask = f"IAM & Admin, Quotas: {metric}{place}, {used_by_others + want.maximum:g}"
        subject = f"{metric} ({usage:g} of {limit:g} used)"
        result += check_quota(want, subject, limit - used_by_others, ask)
    return result
