"""Which nodes a deployment validates before it ends, and why it does not validate the others.

The validation pods see every GPU of a node and request none, so that no guarantee waits for them
(docs/decisions/0045). They see the GPUs through the runtime class of the GPU Operator.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace

from gpuyard.plan.capacity.keep_warm import cron_error, unknown_zone
from gpuyard.plan.draft import Draft
from gpuyard.plan.pools.gpu_operator import operator_parts
from gpuyard.plan.pools.hardware.accepted_thresholds import adjusted_thresholds
from gpuyard.plan.pools.topology import uses_rdma_device_plugin
from gpuyard.plan.records import (
    STARTS_WITH,
    DatasetPlan,
    PoolCheck,
    PoolPlan,
    ReadThreshold,
    RecurringCheck,
    ValidationPlan,
)
from gpuyard.plan.software.support import joins_operator
from gpuyard.spec.platform import Cloud, Gate, PlatformSpec, ValidationProfile, ValidationSpec
from gpuyard.spec.sections import DatasetKind, FabricKind
from gpuyard_core.catalogue.cluster.check_thresholds import ASKED, NODE, StoreSpeed, sold_speed
from gpuyard_core.catalogue.fabric import GPUDIRECT, efa_interfaces_to_launch
from gpuyard_core.catalogue.sharing import SharingMethod
from gpuyard_core.findings import Diagnostic, Fix, Path, error, format_list, info
from gpuyard_core.names import OPERANDS_LABEL

# The load test needs whole GPUs without other users; the test of shares (docs/decisions/0062) all shares at
# once. They are requested from a queue that has no guarantee and borrows, so that no guarantee is broken
# (docs/decisions/0060): capacity that no team lends is not available.

EFA, TCP = "efa", "tcp"
NO_DATASET = "it can read no dataset"


def _with_load_checks(draft: Draft, pool: PoolPlan, check: PoolCheck) -> PoolCheck:
    """Whether its GPUs are tested under load, and whether across nodes."""
    held_back, whole = _held_back(draft, pool), pool.sharing is SharingMethod.NONE
    partial = "its GPUs are partitioned or shared, and a share does not represent the whole GPU"
    # one share too many waits only if no other node can take it, and Kueue does not place pods itself
    alone = pool.nodes.high == pool.start_nodes and not (pool.topology or pool.compute_slices)
    return replace(
        check,
        idle=held_back if whole else partial,
        transport=_between(draft, pool),
        single_node_reason=_single_node_reason(draft, pool) if pool.start_nodes > 1 else "",
        shares_skip_reason="its GPUs are not shared"
        if pool.sharing.is_counted_as_whole_gpu
        else held_back,
        volumes_skip_reason=NO_DATASET,
        spare=int(alone),
    )


def _held_back(draft: Draft, pool: PoolPlan) -> str:
    """Why a queue that only borrows cannot get the whole pool; empty if it can."""
    if pool.stop_policy or draft.queueing.stop_policy:
        return "its queues are stopped"
    if pool.provisioning is not None:
        return (
            "its autoscaler receives a request before each job, and would add nodes for the check"
        )
    for each in pool.counted_resources:
        needed, lent = pool.start_nodes * each.per_node, _lent(draft, pool, each.resource)
        if lent < needed:
            what = f"of its {needed} {each.unit or 'GPUs'} {lent} can be borrowed"
            return f"{what}: the teams do not lend the rest"
    return ""


def _lent(draft: Draft, pool: PoolPlan, resource: str) -> int:
    """The maximum for a queue without a guarantee: unassigned capacity, and what teams lend."""
    key = (pool.name, resource)
    if any(
        (m.pool, m.resource) == key and m.lend is not None
        for c in draft.queueing.cohorts
        for m in c.limits
    ):
        return 0
    spare = sum(
        q.nominal for c in draft.queueing.cohorts for q in c.quotas if (q.pool, q.resource) == key
    )
    quotas = [q for team in draft.teams for q in team.quotas if (q.pool, q.resource) == key]
    return spare + sum(q.nominal if q.lend is None else min(q.nominal, q.lend) for q in quotas)


def _between(draft: Draft, pool: PoolPlan) -> str:
    """What pods can request: EFA interfaces, or adapters that gpuyard's device plugin advertises."""
    if pool.fabric is not None and _handed_out(draft, pool):
        return pool.fabric.kind.value
    has_efa = draft.provider.sells_machines and efa_interfaces_to_launch(pool.machine)
    return EFA if has_efa else TCP


def _single_node_reason(draft: Draft, pool: PoolPlan) -> str:
    """Transports that a validation pod cannot use: reported, and never measured as if they were TCP."""
    if pool.machine.is_rack:
        return "NVLink across a rack needs a ComputeDomain, which the check does not create"
    direct = GPUDIRECT.get(pool.machine.name)
    if draft.provider.sells_machines and direct is not None:
        return f"{direct.name} needs Google's sidecar programs in the pod"
    if pool.fabric is not None and pool.fabric.kind is not FabricKind.ETHERNET:
        kind = pool.fabric.kind.value
        ask = f"pods cannot request {kind} adapters: fabric.plugin names no device plugin"
        return "" if _handed_out(draft, pool) else ask
    return ""


def _handed_out(draft: Draft, pool: PoolPlan) -> bool:
    return draft.spec.cloud is Cloud.NONE and uses_rdma_device_plugin(pool.fabric)


def unchecked_pools(draft: Draft, plan: ValidationPlan) -> Iterator[Diagnostic]:
    """What the profile includes and the deployment does not test."""
    if plan.profile == "quick":
        return
    places = {pool.name: index for index, pool in enumerate(draft.spec.pools)}
    for each in plan.pools:
        at = ("pools", places[each.pool])
        messages = []
        if each.checks_any_node and each.idle:
            messages.append(f"GPUs of {each.pool} are not tested under load: {each.idle}")
        elif each.runs_load_checks and each.single_node_reason:
            messages.append(
                f"nodes of {each.pool} run collectives within a node only: {each.single_node_reason}"
            )
        if (
            each.checks_any_node
            and each.shares_skip_reason
            and not draft.valid_pools[each.pool].sharing.is_counted_as_whole_gpu
        ):
            messages.append(f"GPU shares of {each.pool} are not tested: {each.shares_skip_reason}")
        if messages:
            yield info("validation.deferred", at, "; ".join(messages))
        if (each.runs_load_checks or each.runs_share_checks) and draft.valid_pools[
            each.pool
        ].nodes.high > each.nodes:
            what = "tested under load" if each.runs_load_checks else "tested share by share"
            later = f"later nodes of {each.pool} are not {what}"
            yield info("validation.deferred", at, later)


_SUNDAYS = "0 3 * * 0"
NEEDS = "Python 3.11 or newer with nvidia-ml-py"


def decide_validation(draft: Draft) -> tuple[Draft, list[Diagnostic]]:
    """The validation, if the stack file has one."""
    validation = draft.spec.validation
    if validation is None:
        return draft, []
    pools = () if draft.queueing.dispatch else tuple(draft.valid_pools.values())
    # whether an operator creates the runtime class that exposes GPUs to a pod that requests none
    parts = operator_parts(draft.spec, pools)
    installed = parts is not None and parts.install
    sees = draft.spec.cloud is Cloud.SIMULATED or joins_operator(draft.spec) or installed
    checks = tuple(_check(draft, validation, pool, sees=sees) for pool in pools)
    if readings := read_thresholds(draft, validation, checks):
        checks = tuple(replace(each, volumes_skip_reason="") for each in checks)
    plan = ValidationPlan(
        profile=validation.profile.value,
        required=validation.required,
        image=validation.image or "",
        deadline_seconds=validation.deadline_minutes * 60,
        max_unavailable_percent=validation.max_unavailable_percent,
        recurring=RecurringCheck(
            cron=again.cron,
            time_zone=again.time_zone,
            seconds=max(1, round(again.hours * 3600)),
        )
        if (again := validation.recurring)
        else None,
        textfile=validation.textfile or "",
        pools=checks,
        readings=readings,
        accepted_thresholds=adjusted_thresholds(validation, pools),
    )
    return replace(draft, validation=plan), []


def _check(draft: Draft, validation: ValidationSpec, pool: PoolPlan, *, sees: bool) -> PoolCheck:
    """The gate is a taint if the validation is required, unless the stack file names another gate."""
    lacks = _lacks(pool, sees=sees)
    gate = validation.gate or (Gate.TAINT if validation.required else Gate.LABEL)
    gated = bool(validation.image) and not lacks and gate is not Gate.NONE
    check = PoolCheck(
        pool=pool.name, nodes=pool.start_nodes, skip_reason=lacks, gate=gate.value if gated else ""
    )
    loaded = validation.profile is not ValidationProfile.QUICK and check.checks_any_node
    return _with_load_checks(draft, pool, check) if loaded else check


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


def check_validation(draft: Draft) -> Iterator[Diagnostic]:
    """Report what is not validated; an error if validation is required and impossible."""
    plan = draft.validation
    if plan is None:
        return
    for at, problem, fix in _kept_from(draft, plan):
        if plan.required:
            yield error("validation.impossible", at, f"required, but {problem}", fix=fix)
        else:
            yield info("validation.deferred", at, problem)
    yield from _check_again(draft.spec, plan)
    if plan.image:
        for each in _later(draft, plan):
            yield info("validation.deferred", ("validation",), each)
        yield from unchecked_pools(draft, plan)


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
            fix=Fix.write(_SUNDAYS, (*at, "cron")),
        )
    yield from unknown_zone("validation.again", again.time_zone, at)
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


USER_PROVIDED = "the stack file, read_mb_per_s"


def read_thresholds(
    draft: Draft, validation: ValidationSpec, checks: Iterable[PoolCheck]
) -> tuple[ReadThreshold, ...]:
    """The thresholds of all datasets that are read; one node of each pool reads them at the same time."""
    pools = _readers(draft, validation.profile, validation.image, checks)
    read = [each for each in draft.storage.datasets if pools and not _untried_stores(each)]
    return tuple(_minimum(each, pools) for each in read)


def _untried_stores(data: DatasetPlan) -> str:
    """Why a dataset is not read; empty if it is."""
    if data.kind is DatasetKind.CLASS:
        return "each namespace has its own volume, and the volume of the check is empty"
    if data.read_mb_per_s is None and data.bucket is None and data.file_system is None:
        return "it is created empty; write read_mb_per_s once it has data"
    return ""


def _minimum(data: DatasetPlan, pools: list[PoolPlan]) -> ReadThreshold:
    if data.read_mb_per_s is not None:
        return ReadThreshold(
            name=data.name, mb_per_s=float(data.read_mb_per_s), source=USER_PROVIDED
        )
    least = max_read_speed(data, pools)
    readers = f" for {len(pools)} nodes at once" if len(pools) > 1 else ""
    source = f"derived, not measured: {ASKED:g} of {least.mb_per_s:.0f} MB/s{readers}, {least.source.title}"
    return ReadThreshold(name=data.name, mb_per_s=round(ASKED * least.mb_per_s, 1), source=source)


def max_read_speed(data: DatasetPlan, pools: list[PoolPlan]) -> StoreSpeed:
    """The maximum read speed of each of these nodes: by the speed sold and by the node's own network."""
    sold = sold_speed(data.kind.value, data.tier, data.size_gib, data.throughput)
    speeds = [] if sold is None else [StoreSpeed(sold.mb_per_s / max(1, len(pools)), sold.source)]
    speeds += [
        StoreSpeed(gbps * 1000 / 8, pool.machine.source)
        for pool in pools
        if (gbps := pool.machine.network_gbps)
    ]
    return min([*speeds, NODE], key=lambda each: each.mb_per_s)


def check_store_reads(draft: Draft) -> Iterator[Diagnostic]:
    """A required read speed must be reachable, and a check must measure it."""
    for index, data in enumerate(draft.storage.datasets):
        at = ("storage", "datasets", index)
        plan, requested = draft.validation, data.read_mb_per_s
        pools = (
            _readers(draft, ValidationProfile(plan.profile), plan.image, plan.pools) if plan else []
        )
        if requested is not None and requested > (most := max_read_speed(data, pools)).mb_per_s:
            yield _too_fast((*at, "read_mb_per_s"), data, requested, most, len(pools))
        elif requested is not None and not pools:
            why = "no check with profile full or soak runs on a node"
            yield _skipped((*at, "read_mb_per_s"), data, why)
        elif pools and (why := _untried_stores(data)):
            yield _skipped(at, data, why)


def _readers(
    draft: Draft, profile: ValidationProfile, image: str | None, checks: Iterable[PoolCheck]
) -> list[PoolPlan]:
    """The pools of which one node reads the datasets."""
    reads = image and profile is not ValidationProfile.QUICK
    return [draft.valid_pools[each.pool] for each in checks if reads and each.checks_any_node]


def _skipped(at: Path, data: DatasetPlan, why: str) -> Diagnostic:
    return info(
        "validation.deferred",
        at,
        f"validation does not measure the read speed of {data.name}: {why}",
    )


def _too_fast(
    at: Path, data: DatasetPlan, requested: int, most: StoreSpeed, readers: int
) -> Diagnostic:
    least = max(1, int(most.mb_per_s * ASKED))
    at_once = f" while {readers} nodes read at once" if readers > 1 else ""
    return error(
        "storage.read",
        at,
        f"no node can read {data.name} at this speed{at_once}",
        given=f"{requested} MB/s",
        allowed=f"at most {int(most.mb_per_s)} MB/s ({most.source.title})",
        fix=Fix.write(least, at),
    )
