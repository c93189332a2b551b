"""Which nodes a deployment validates before it ends, and why it does not validate the others.

The validation pods see every GPU of a node and request none, so that no guarantee waits for them
(docs/decisions/0045). They see the GPUs through the runtime class of the GPU Operator.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace

from gpuyard.plan.capacity.keep_warm import cron_error, nearest_zone
from gpuyard.plan.draft import Draft
from gpuyard.plan.pools.gpu_operator import operator_parts
from gpuyard.plan.pools.hardware.accepted_thresholds import adjusted_thresholds
from gpuyard.plan.pools.hardware.volumes import read_thresholds
from gpuyard.plan.pools.hardware.work import unchecked_pools, with_load_checks
from gpuyard.plan.records import STARTS_WITH, PoolCheck, PoolPlan, RecurringCheck, ValidationPlan
from gpuyard.plan.software.gpu_operator import joins_operator
from gpuyard.spec.platform import Cloud, Gate, PlatformSpec, ValidationProfile, ValidationSpec
from gpuyard_core.findings import Diagnostic, Fix, Path, error, format_list, info
from gpuyard_core.names import OPERANDS_LABEL

_SUNDAYS = "0 3 * * 0"
NEEDS = "Python 3.11 or newer with nvidia-ml-py"


def decide_validation(draft: Draft) -> tuple[Draft, list[Diagnostic]]:
    """The validation, if the stack file has one."""
    validation = draft.spec.validation
    if validation is None:
        return draft, []
    pools = () if draft.queueing.dispatch else tuple(draft.valid_pools.values())
    sees = _sees_gpus(draft.spec, pools)
    checks = tuple(_worked(draft, validation, p, _check(p, validation, sees=sees)) for p in pools)
    readings = read_thresholds(draft, validation, checks)
    if readings:
        checks = tuple(replace(each, volumes_skip_reason="") for each in checks)
    plan = ValidationPlan(
        profile=validation.profile.value,
        required=validation.required,
        image=validation.image or "",
        deadline_seconds=validation.deadline_minutes * 60,
        max_unavailable_percent=validation.max_unavailable_percent,
        recurring=_recurring_check(validation),
        textfile=validation.textfile or "",
        pools=checks,
        readings=readings,
        accepted_thresholds=adjusted_thresholds(validation, pools),
    )
    return replace(draft, validation=plan), []


def _recurring_check(validation: ValidationSpec) -> RecurringCheck | None:
    if validation.recurring is None:
        return None
    seconds = max(1, round(validation.recurring.hours * 3600))
    return RecurringCheck(
        cron=validation.recurring.cron, time_zone=validation.recurring.time_zone, seconds=seconds
    )


def _check(pool: PoolPlan, validation: ValidationSpec, *, sees: bool) -> PoolCheck:
    """The gate is a taint if the validation is required, unless the stack file names another gate."""
    lacks = _lacks(pool, sees=sees)
    gate = validation.gate or (Gate.TAINT if validation.required else Gate.LABEL)
    gated = bool(validation.image) and not lacks and gate is not Gate.NONE
    return PoolCheck(
        pool=pool.name, nodes=pool.start_nodes, skip_reason=lacks, gate=gate.value if gated else ""
    )


def _worked(
    draft: Draft, validation: ValidationSpec, pool: PoolPlan, check: PoolCheck
) -> PoolCheck:
    """The check with its load tests, if the profile has them."""
    if validation.profile is ValidationProfile.QUICK or not check.checks_any_node:
        return check
    return with_load_checks(draft, pool, check)


def _sees_gpus(spec: PlatformSpec, pools: Iterable[PoolPlan]) -> bool:
    """Whether an operator creates the runtime class that exposes GPUs to a pod that requests none."""
    parts = operator_parts(spec, pools)
    installed = parts is not None and parts.install
    return spec.cloud is Cloud.SIMULATED or joins_operator(spec) or installed


def _lacks(pool: PoolPlan, *, sees: bool) -> str:
    if pool.machine.gpu is None or pool.machine.gpu_fraction != 1:
        return "a node has a fraction of a GPU, which cannot validate the whole GPU"
    if pool.dra is not None:
        return "it uses resource claims, and no runtime class exposes all GPUs to a pod"
    if pool.labels.get(OPERANDS_LABEL) == "false":
        return "the GPU Operator does not run on its nodes, so no runtime class exposes all GPUs to a pod"
    return (
        ""
        if sees
        else "no GPU Operator is installed, so no runtime class exposes all GPUs to a pod"
    )


def check_validation(draft: Draft) -> list[Diagnostic]:
    """Report what is not validated; an error if validation is required and impossible."""
    plan = draft.validation
    if plan is None:
        return []
    finding = _impossible if plan.required else _deferred
    results = [finding(*each) for each in _kept_from(draft, plan)]
    results += _check_again(draft.spec, plan)
    if plan.image:
        results += [
            info("validation.deferred", ("validation",), each) for each in _later(draft, plan)
        ]
        results += list(unchecked_pools(draft, plan))
    return results


def _impossible(path: Path, problem: str, fix: Fix) -> Diagnostic:
    """A validation that is required and impossible."""
    return error("validation.impossible", path, f"required, but {problem}", fix=fix)


def _deferred(path: Path, problem: str, _: Fix) -> Diagnostic:
    return info("validation.deferred", path, problem)


def _check_again(spec: PlatformSpec, plan: ValidationPlan) -> Iterator[Diagnostic]:
    """The schedule is a valid cron expression in a known time zone, and a gate lets the check run again."""
    again, at = plan.recurring, ("validation", "recurring")
    if again is None:
        return
    if problem := cron_error(again.cron):
        yield error(
            "validation.again",
            (*at, "cron"),
            problem,
            given=again.cron,
            allowed=f"five fields, such as `{_SUNDAYS}`: at 3:00 on Sundays",
            fix=Fix(message=f"write {_SUNDAYS}", at=(*at, "cron"), value=_SUNDAYS),
        )
    if suggestion := nearest_zone(again.time_zone):
        yield error(
            "validation.again",
            (*at, "time_zone"),
            "unknown time zone",
            given=again.time_zone,
            allowed="an IANA name, such as Europe/Paris or America/New_York",
            fix=Fix(message=f"write {suggestion}", at=(*at, "time_zone"), value=suggestion),
        )
    if spec.validation is not None and spec.validation.gate is Gate.NONE:
        yield error(
            "validation.again",
            at,
            "with gate: none, gpuyard does not check nodes after the deployment",
            given="gate: none",
            allowed="gate: label or gate: taint",
            fix=Fix(message="write gate: label", at=("validation", "gate"), value=Gate.LABEL.value),
        )


def _kept_from(draft: Draft, plan: ValidationPlan) -> Iterator[tuple[Path, str, Fix]]:
    """What prevents the validation: its path, the problem and the fix."""
    unasked = ("validation", "required")
    if not plan.image:
        message = f"write an image with {NEEDS} under validation.image, or write required: false"
        fix = Fix(message=message, at=unasked, value=False)
        yield ("validation",), "no validation image is configured: no node is checked", fix
        return
    places = {pool.name: index for index, pool in enumerate(draft.spec.pools)}
    for each in plan.pools:
        if each.skip_reason:
            fix = Fix(message="write validation: {required: false}", at=unasked, value=False)
            at: Path = ("pools", places[each.pool])
            yield at, f"the nodes of {each.pool} are not checked: {each.skip_reason}", fix


def _later(draft: Draft, plan: ValidationPlan) -> Iterator[str]:
    """Nodes that start after a deployment has ended."""
    if draft.queueing.dispatch:
        yield "this platform has no nodes: the worker clusters validate their own"
        return
    pools = draft.valid_pools
    grow = [p for p in plan.pools if not p.skip_reason and pools[p.pool].nodes.high > p.nodes]
    if grow and not grow[0].gate:
        counts = format_list(f"{p.pool} ({p.nodes} of {pools[p.pool].nodes.high})" for p in grow)
        yield (f"of {counts} only nodes that run from the start are checked: later nodes are not")
    if grow and grow[0].gate == Gate.LABEL:
        yield (
            f"later nodes of {format_list(p.pool for p in grow)} are checked and labelled, but run jobs"
            " before the result"
        )
    tainted = [p.pool for p in plan.pools if p.gate == Gate.TAINT]
    if tainted and draft.spec.cloud is Cloud.NONE:
        yield (
            f"you create the nodes of {format_list(tainted)}: they run jobs before they are checked, unless"
            f" their kubelets start with --register-with-taints={STARTS_WITH}"
        )
