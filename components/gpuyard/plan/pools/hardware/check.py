"""Which nodes a deployment checks before it ends, and what keeps it from checking the others.

The pods that check see every GPU of a node and hold none, so that no guarantee waits for them
(docs/decisions/0045). They see them by the runtime class that comes with the GPU Operator.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace

from gpuyard.findings import Finding, Fix, Path, listed, note, refuse
from gpuyard.names import OPERANDS_LABEL
from gpuyard.plan.capacity.warm import nearest_zone, unreadable
from gpuyard.plan.draft import Draft
from gpuyard.plan.pools.gpu_operator import operator_parts
from gpuyard.plan.pools.hardware.accepted import lowered_of
from gpuyard.plan.pools.hardware.volumes import floors_of
from gpuyard.plan.pools.hardware.work import unworked, work_of
from gpuyard.plan.records import STARTS_WITH, CheckedAgain, PoolCheck, PoolPlan, ValidationPlan
from gpuyard.plan.software.gpu_operator import joins_operator
from gpuyard.spec.platform import Cloud, Gate, PlatformSpec, Profile, ValidationSpec

_SUNDAYS = "0 3 * * 0"
NEEDS = "Python 3.11 or newer with nvidia-ml-py"


def decide_validation(draft: Draft) -> tuple[Draft, list[Finding]]:
    """The check, when the stack file asks for it."""
    asked = draft.spec.validation
    if asked is None:
        return draft, []
    pools = () if draft.queueing.dispatch else tuple(draft.sound.values())
    sees = _sees_gpus(draft.spec, pools)
    checks = tuple(_worked(draft, asked, p, _check(p, asked, sees=sees)) for p in pools)
    readings = floors_of(draft, asked, checks)
    if readings:
        checks = tuple(replace(each, unread="") for each in checks)
    made = ValidationPlan(
        profile=asked.profile.value,
        required=asked.required,
        image=asked.image or "",
        deadline_seconds=asked.deadline_minutes * 60,
        most_closed_percent=asked.most_closed_percent,
        again=_again(asked),
        textfile=asked.textfile or "",
        pools=checks,
        readings=readings,
        accepted=lowered_of(asked, pools),
    )
    return replace(draft, validation=made), []


def _again(asked: ValidationSpec) -> CheckedAgain | None:
    if asked.again is None:
        return None
    seconds = max(1, round(asked.again.hours * 3600))
    return CheckedAgain(cron=asked.again.cron, time_zone=asked.again.time_zone, seconds=seconds)


def _check(pool: PoolPlan, asked: ValidationSpec, *, sees: bool) -> PoolCheck:
    """The gate is by taint where only a passed check counts, unless the stack file says another."""
    lacks = _lacks(pool, sees=sees)
    gate = asked.gate or (Gate.TAINT if asked.required else Gate.LABEL)
    gated = bool(asked.image) and not lacks and gate is not Gate.NONE
    return PoolCheck(
        pool=pool.name, nodes=pool.start_nodes, lacks=lacks, gate=gate.value if gated else ""
    )


def _worked(draft: Draft, asked: ValidationSpec, pool: PoolPlan, check: PoolCheck) -> PoolCheck:
    """With what becomes of its GPUs at work."""
    if asked.profile is Profile.QUICK or not check.runs:
        return check
    return work_of(draft, pool, check)


def _sees_gpus(spec: PlatformSpec, pools: Iterable[PoolPlan]) -> bool:
    """Whether an operator makes the runtime class by which a pod has GPUs that it does not hold."""
    parts = operator_parts(spec, pools)
    installed = parts is not None and parts.install
    return spec.cloud is Cloud.SIMULATED or joins_operator(spec) or installed


def _lacks(pool: PoolPlan, *, sees: bool) -> str:
    if pool.machine.gpu is None or pool.machine.gpu_fraction != 1:
        return "a node has a part of a GPU, which tells nothing of the whole"
    if pool.dra is not None:
        return "its GPUs are claimed, and no runtime class shows a pod all of them"
    if pool.labels.get(OPERANDS_LABEL) == "false":
        return "the GPU Operator is kept off its nodes, and no runtime class shows a pod all GPUs"
    return "" if sees else "no GPU Operator is installed, whose runtime class shows a pod all GPUs"


def check_validation(draft: Draft) -> list[Finding]:
    """Say what is not checked; refuse what is required and cannot be."""
    plan = draft.validation
    if plan is None:
        return []
    said = _refused if plan.required else _told
    found = [said(*each) for each in _kept_from(draft, plan)]
    found += _check_again(draft.spec, plan)
    if plan.image:
        found += [
            note("validation.deferred", ("validation",), each) for each in _later(draft, plan)
        ]
        found += list(unworked(draft, plan))
    return found


def _refused(path: Path, problem: str, fix: Fix) -> Finding:
    """What is required and cannot be made."""
    return refuse("validation.impossible", path, f"required, and {problem}", fix=fix)


def _told(path: Path, problem: str, _: Fix) -> Finding:
    return note("validation.deferred", path, problem)


def _check_again(spec: PlatformSpec, plan: ValidationPlan) -> Iterator[Finding]:
    """A time that comes, on a clock that there is, and somebody who makes the check then."""
    again, at = plan.again, ("validation", "again")
    if again is None:
        return
    if problem := unreadable(again.cron):
        yield refuse(
            "validation.again",
            (*at, "cron"),
            problem,
            given=again.cron,
            allowed=f"five fields, such as `{_SUNDAYS}`: at 3:00 on Sundays",
            fix=Fix(says=f"write {_SUNDAYS}", at=(*at, "cron"), value=_SUNDAYS),
        )
    if near := nearest_zone(again.time_zone):
        yield refuse(
            "validation.again",
            (*at, "time_zone"),
            "no time zone of that name",
            given=again.time_zone,
            allowed="an IANA name, such as Europe/Paris or America/New_York",
            fix=Fix(says=f"write {near}", at=(*at, "time_zone"), value=near),
        )
    if spec.validation is not None and spec.validation.gate is Gate.NONE:
        yield refuse(
            "validation.again",
            at,
            "with gate: none nothing looks at a node after the deployment",
            given="gate: none",
            allowed="gate: label or gate: taint",
            fix=Fix(says="write gate: label", at=("validation", "gate"), value=Gate.LABEL.value),
        )


def _kept_from(draft: Draft, plan: ValidationPlan) -> Iterator[tuple[Path, str, Fix]]:
    """What keeps the check from being made: where it stands, what it is, what to write."""
    unasked = ("validation", "required")
    if not plan.image:
        says = f"name an image that has {NEEDS} under validation.image; or write required: false"
        fix = Fix(says=says, at=unasked, value=False)
        yield ("validation",), "no image is named to run it in: no node is checked", fix
        return
    places = {pool.name: index for index, pool in enumerate(draft.spec.pools)}
    for each in plan.pools:
        if each.lacks:
            fix = Fix(says="write validation: {required: false}", at=unasked, value=False)
            at: Path = ("pools", places[each.pool])
            yield at, f"the nodes of {each.pool} are not checked: {each.lacks}", fix


def _later(draft: Draft, plan: ValidationPlan) -> Iterator[str]:
    """Nodes that come after a deployment has ended."""
    if draft.queueing.dispatch:
        yield "this platform has no nodes: the clusters that its jobs go to check their own"
        return
    pools = draft.sound
    grow = [p for p in plan.pools if not p.lacks and pools[p.pool].nodes.high > p.nodes]
    if grow and not grow[0].gate:
        counts = listed(f"{p.pool} ({p.nodes} of {pools[p.pool].nodes.high})" for p in grow)
        yield (
            f"of {counts} only nodes that run from the beginning are checked: those that come later are not"
        )
    if grow and grow[0].gate == Gate.LABEL:
        yield (
            f"nodes of {listed(p.pool for p in grow)} that come later are checked and labelled, and take jobs"
            " meanwhile"
        )
    yours = [p.pool for p in plan.pools if p.gate == Gate.TAINT]
    if yours and draft.spec.cloud is Cloud.NONE:
        yield (
            f"the nodes of {listed(yours)} are yours to make: they take jobs before they are checked, unless"
            f" their kubelets start with --register-with-taints={STARTS_WITH}"
        )
