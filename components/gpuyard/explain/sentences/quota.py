"""Every sentence of an explanation, in one place: what is wrong with which number, and what is possible."""

from collections.abc import Iterable, Mapping, Sequence
from math import ceil

from gpuyard import names
from gpuyard.manifests.quantities import CPU, GIB, MEMORY, MILLI, show_amount
from gpuyard.plan.queueing import kueue
from gpuyard.plan.records import PlatformPlan, TeamPlan
from gpuyard.scheduler.desk import Desk
from gpuyard.scheduler.flavors import Assignment, Considered, Mode, counted
from gpuyard.scheduler.nodes import largest_free, node_of
from gpuyard.scheduler.quotas import Key
from gpuyard.scheduler.requests import PodSet, Refused
from gpuyard.spec.platform import Cloud
from gpuyard.spec.sections import Enforce


def some(count: int, one: str) -> str:
    """`1 pod`, `3 pods`."""
    return f"{count:,} {one}{'' if count == 1 else 's'}"


def listed(words: Iterable[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    *most, last = words
    return f"{', '.join(most)} and {last}" if most else last


def refused(problems: Sequence[Refused]) -> str:
    """What the API server does not take."""
    return "Kubernetes does not accept it: " + "; ".join(p.says for p in problems)


def not_admitted(said: Sequence[str]) -> str:
    """What the platform's policy refuses."""
    return "the platform's policy refuses it: " + ". ".join(said)


def let_pass(said: Sequence[str], how: Enforce) -> str:
    """What the policy finds fault with and does not stop."""
    does = "warns of it" if how is Enforce.WARN else "notes it for the audit"
    return f"the platform's policy {does}: " + ". ".join(said)


def no_queue(label: str, team: TeamPlan) -> str:
    """A queue label that leads nowhere."""
    return (
        f"its label {names.QUEUE_LABEL} names the queue {label}, and team {team.name} has only"
        f" {listed(team.queues)}: no queue ever looks at it"
    )


def without_label(team: TeamPlan) -> str:
    """A job that names no queue, where no queue is called default."""
    return (
        f"it has no label {names.QUEUE_LABEL}, and team {team.name} has no queue called"
        f" {names.LOCAL_QUEUE}, only {listed(team.queues)}"
    )


def past_its_queues(team: TeamPlan) -> str:
    """The same where taints let it in."""
    return f"{without_label(team)}: the job passes by every queue and quota"


def unknown_resource(plan: PlatformPlan, team: TeamPlan, resource: str) -> str:
    """A resource the team has no quota of, or nobody."""
    owners = [p.name for p in plan.pools if any(a.resource == resource for a in p.counted)]
    if owners:
        return f"{resource} comes from {listed(owners)}, of which team {team.name} has no quota"
    if resource == names.GPU_CLAIM:
        return "it claims devices (DRA), and no pool hands out GPUs by claim (sharing: dra)"
    return f"no pool advertises {resource}: a queue admits nothing that it does not count"


def without(plan: PlatformPlan, team: TeamPlan, resource: str) -> tuple[Considered, ...]:
    """Why each pool does not give out a resource."""
    found = []
    for pool in plan.pools:
        has = [a.resource for a in pool.counted]
        why = (
            f"team {team.name} has no quota there"
            if resource in has
            else f"its nodes have {', '.join(has)}"
        )
        found.append(Considered(pool.name, taken=False, why=why))
    return tuple(found)


def two_pools(pools: Sequence[str]) -> str:
    """Resources of one pod that no node has together."""
    return f"one pod asks for resources of {listed(pools)}, and no node stands in two pools"


def no_pool(found: Assignment) -> str:
    """More than the queue could ever have."""
    if len(found.reasons) == 1:
        return f"{found.reasons[0].pool}: {found.reasons[0].why}"
    return f"none of {listed(r.pool for r in found.reasons)} can take it, whoever else runs"


def waits_for_quota(found: Assignment) -> str:
    """Quota that others have, and keep."""
    (pool, resource), total = found.short[0]
    why = {
        Mode.BLOCKED: "and evicting is not allowed for it",
        Mode.NOBODY: "and nobody has to give way to it",
    }.get(found.mode, "and evicting others would not be enough")
    verb = "is" if total == 1 else "are"
    return f"{show_amount(resource, total)} of {pool} {verb} not free, {why}"


def stopped(plan: PlatformPlan, team: TeamPlan) -> str:
    """A brake on the queue."""
    return f"its queue is stopped: {listed(_brakes(plan, team))}"


def released(plan: PlatformPlan, team: TeamPlan) -> tuple[str, ...]:
    """What must be taken away from the stack file."""
    brakes = _brakes(plan, team)
    return (f"when {listed(brakes)} {'is' if len(brakes) == 1 else 'are'} taken away",)


def _brakes(plan: PlatformPlan, team: TeamPlan) -> list[str]:
    """`teams[0].stop: hold`: where they stand."""
    found = [f"queueing.stop: {plan.queueing.stop}"] if plan.queueing.stop else []
    own = next(one for one in plan.spec.teams if one.name == team.name)
    return [*found, f"{_at(plan, team)}.stop: {own.stop.value}"] if own.stop else found


def pool_stopped(pool: str) -> str:
    """A brake on the pool that its queue would send it to."""
    return f"pool {pool} is stopped: no new job starts there"


def pools_released(plan: PlatformPlan, pools: Sequence[str]) -> tuple[str, ...]:
    """The same for pools."""
    at = [p.name for p in plan.pools]
    return tuple(
        f"when pools[{at.index(pool)}].stop: hold is taken away" for pool in dict.fromkeys(pools)
    )


def shortage(desk: Desk, team: TeamPlan, found: Assignment) -> tuple[str, ...]:
    """Who must return how much of what."""
    conditions: list[str] = []
    for key, total in found.short:
        pool, resource = key
        own = total - desk.quotas.room_of_team(team.name, key)
        if own > 0:
            has = desk.quotas.used[team.name][key]
            conditions.append(
                f"when team {team.name}'s own jobs return {own:,} {resource} of {pool}"
                f" (they have {has:,})"
            )
        theirs = total - desk.quotas.room_of_cohort(team.name, key)
        if theirs > max(own, 0):
            conditions.append(
                f"when {_holders(desk, team.name, key, theirs)} {theirs:,} {resource} of {pool}"
            )
    return tuple(conditions)


def _holders(desk: Desk, team: str, key: Key, amount: int) -> str:
    """The other teams that must return something: borrowers where that is enough, else whoever has any."""
    quotas = desk.quotas
    full = quotas.full(team, key)
    near = [t for t, queue in quotas.queues.items() if t != team and full in queue.above]
    has = {t: quotas.used[t][key] for t in near if quotas.used[t][key]}
    borrowed = {t: n - quotas.nominal(t, key) for t, n in has.items() if quotas.borrows(t, key)}
    enough = sum(borrowed.values()) >= amount
    told = {t: f"{t} (borrows {n:,})" for t, n in borrowed.items()}
    if not enough:
        told = {t: f"{t} (has {n:,})" for t, n in has.items()}
    names_of = listed(told[t] for t in sorted(told))
    return f"teams {names_of} return" if len(told) > 1 else f"team {names_of} returns"


def queued() -> str:
    """What happens to a job that has no quota yet."""
    return "It waits whole in its queue, and none of its pods exists."


def over_resource_quota(team: TeamPlan, resource: str, counts: tuple[int, int, int]) -> str:
    """A pod that its namespace has no room for."""
    amount, has, hard = counts
    return (
        f"the ResourceQuota of namespace {team.namespace} holds {hard:,} {resource},"
        f" its pods have {has:,}, and {amount:,} more are asked for"
    )


def own_pods_first(team: TeamPlan, resource: str, amount: int) -> str:
    """What must end before the namespace has room."""
    return f"when pods of team {team.name} that hold {amount:,} {resource} have ended"


def container_too_large(team: TeamPlan, resource: str, amount: int, most: int) -> str:
    """A container that no pod of the namespace may have."""
    return (
        f"one of its containers asks for {show_amount(resource, amount)}, or is limited to them, and the"
        f" LimitRange of namespace {team.namespace} allows one {show_amount(resource, most)}"
    )


def over_namespace(team: TeamPlan, resource: str, counts: tuple[int, int, int]) -> str:
    """Pods that the namespace has no room for beside those it has."""
    asks, has, hard = (show_amount(resource, n) for n in counts)
    there = f" and its pods have {has}" if counts[1] else ""
    return (
        f"its pods ask for {asks} together, and the ResourceQuota of namespace {team.namespace}"
        f" holds {hard}{there}"
    )


def own_end_first(team: TeamPlan, resource: str, amount: int) -> str:
    """What must end before the namespace has room for all of its pods."""
    return f"when pods of team {team.name} that hold {show_amount(resource, amount)} have ended"


def made_later() -> str:
    """What happens to pods that their owner may not make yet."""
    return "Kubernetes refuses the pods beyond that; their owner tries again, ever more seldom."


def unmade(plan: PlatformPlan) -> str:
    """What Kueue does with a gang of which some pods are never made."""
    return (
        "Kueue admits it, and Kubernetes refuses each pod beyond the quota; those that exist hold their GPUs."
        f" {_evicted_later(plan)}"
    )


def more_for_namespace(plan: PlatformPlan, team: TeamPlan, resource: str, amount: int) -> str:
    """The limit of the team that would do."""
    word, unit = {CPU: ("cpu", MILLI), MEMORY: ("memory_gib", GIB)}.get(resource, ("pods", 1))
    return f"let team {team.name} have more: {_at(plan, team)}.limits.{word}: {ceil(amount / unit)}"


def _at(plan: PlatformPlan, team: TeamPlan) -> str:
    """Where a team stands in the stack file."""
    return f"teams[{[t.name for t in plan.teams].index(team.name)}]"


def not_even_queued() -> str:
    """What happens to a pod that the API server does not take now."""
    return (
        "Kubernetes refuses the pod, and nothing waits: submit it again then,"
        " or as a Job, which queues before it has pods."
    )


def no_plain_node(plan: PlatformPlan, pods: PodSet) -> str:
    """Pods without GPUs where every node has some."""
    some_pods = f"{some(pods.count, 'pod')} ({pods.path}) ask{'s' if pods.count == 1 else ''}"
    where = (
        "every node here is a GPU node, whose taint"
        if plan.cloud == Cloud.SIMULATED.value
        else "the nodes it selects are GPU nodes, whose taint"
    )
    return f"{some_pods} for no GPU, and {where} such pods do not tolerate"


def wrong_nodes(plan: PlatformPlan, pool: str, about: str) -> str:
    """A selector that queues do not see."""
    return (
        f"its queue sends it to {pool}, whose nodes do not have {about}:"
        f" a queue looks only at {listed(plan.pool(pool).node_selector)}"
    )


def unknown_label(pool: str, about: str) -> str:
    """A label that only a live node could show."""
    return f"whether nodes of {pool} have {about} is not known here"


def hidden(pool: str, resources: Sequence[str]) -> str:
    """Resources that an autoscaler does not know of yet."""
    return (
        f"no node of {pool} runs, and whoever adds nodes learns of {listed(resources)} only from one:"
        " nothing may start"
    )


def discovered_late(pool: str, label: str) -> str:
    """A label that nodes which do not run yet lack."""
    return (
        f"nodes of {pool} get the label {label} only when they run:"
        " whoever starts nodes may not know that one would fit"
    )


def too_big_for_node(plan: PlatformPlan, pool: str, pods: PodSet, short: Sequence[str]) -> str:
    """One pod is more than a node."""
    return f"its queue sends it to {pool}, where {lacks(plan, pool, pods, short)}"


def lacks(plan: PlatformPlan, pool: str, pods: PodSet, short: Sequence[str]) -> str:
    """What a node has less of than one pod wants."""
    node = node_of(plan, plan.pool(pool))
    wants = listed(show_amount(r, pods.requests[r]) for r in short)
    has = listed(show_amount(r, node[r]) if r in node else f"no {r}" for r in short)
    return f"one pod wants {wants}, and a node has {has}"


def too_many_for_pool(plan: PlatformPlan, pool: str, pods: PodSet) -> str:
    """All pods are more than all nodes."""
    nodes = plan.pool(pool).nodes.high
    apart = ", each on a node of its own" if pods.apart else ""
    return (
        f"its queue sends it to {pool}, whose {some(nodes, 'node')} do not hold"
        f" {some(pods.count, 'pod')} with {each_asks(pods)}{apart}"
    )


def each_asks(pods: PodSet) -> str:
    """What one pod asks for, without what it leaves at nothing, or to the defaults of its namespace."""
    asks = [show_amount(r, n) for r, n in pods.requests.items() if n and r not in pods.unsaid]
    return listed(asks or ["no requests"])


def _main(pods: PodSet) -> str:
    """The resource that decides about the room: devices before CPU and memory."""
    return next(iter([*counted(pods.requests), *pods.requests]))


def fragmented(desk: Desk, pool: str, pods: PodSet) -> str:
    """Quota that is free, on nodes that are not."""
    resource = _main(pods)
    pieces = largest_free(desk.rooms[pool], resource)
    if not pieces:
        return f"its quota is free, but no node of {pool} has any {resource} left"
    shown = listed(
        f"{show_amount(resource, size)} on {some(count, 'node')}" for size, count in pieces
    )
    return (
        f"its quota is free, but not in one piece: {pool} has {shown},"
        f" and one pod wants {each_asks(pods)}"
    )


def room_first(pool: str, pods: PodSet, ends: str) -> str:
    """The condition under which pods find nodes, and one job whose end would do."""
    room = "nodes have" if pods.count > 1 else "a node has"
    example = f", for example when {ends} ends" if ends else ""
    return (
        f"when in {pool} {room} room for {some(pods.count, 'pod')} with {each_asks(pods)}{example}"
    )


def admitted_in_vain(plan: PlatformPlan) -> str:
    """What Kueue does with a gang whose pods find no node."""
    return f"Kueue admits it, its pods stay pending and hold the quota. {_evicted_later(plan)}"


def _evicted_later(plan: PlatformPlan) -> str:
    minutes = kueue.in_words(60 * plan.queueing.start_minutes)
    # elsewhere a Kueue that runs already may be set up by somebody else
    ours = plan.cloud == Cloud.SIMULATED.value or plan.spec.queueing.install is not False
    timeout = minutes if ours else f"{minutes} (unless Kueue is set up otherwise)"
    return (
        f"After {timeout} it is evicted whole,"
        f" and queues again {kueue.in_words(kueue.FIRST_REQUEUE_SECONDS)} later, then after twice as long,"
        f" up to {kueue.in_words(kueue.LONGEST_REQUEUE_SECONDS)}."
    )


def blocks_itself() -> str:
    """A gang that may take its own place away."""
    return (
        "its pods differ in size and share nodes: small ones may be placed so that a large one finds none;"
        " required anti-affinity or a pool of its own for one kind prevents it"
    )


def sent(clusters: Sequence[str]) -> str:
    """What a platform does with a job that has quota and runs elsewhere."""
    if len(clusters) == 1:
        return f"sent to {clusters[0]}"
    return f"sent to one of {', '.join(clusters)}"


def admitted_there(clusters: Sequence[str]) -> str:
    """What is decided where it runs."""
    if len(clusters) == 1:
        return f"when its queue on {clusters[0]} admits it: what is free there is not known here"
    return (
        "when its queue on one of them admits it, which keeps it: what is free there is not known here,"
        " and pools are what all of them hold together"
    )


def not_sent(kind: str) -> str:
    """A kind that the dispatcher does not know how to send."""
    return f"a {kind} is not sent to other clusters, only Jobs and pods are, and no node is here"


def sent_by_nobody(why: str, namespace: str) -> str:
    """A job in no queue, where only queues send jobs."""
    why = why or f"namespace {namespace} belongs to no team"
    return f"{why}: nothing sends it anywhere, and no node is here"


def starts(pools: Sequence[str], nodes: int, started: Mapping[str, int], pods: int) -> str:
    """Where it starts."""
    if not pods:
        return "it asks for no pods at all"
    if not pools:
        return "it asks for nothing that a queue counts"
    running = nodes - sum(started.values())
    where = f"on {some(nodes, 'node')} of {listed(pools)}"
    if not started:
        return f"{where}, running already"
    return f"{where}, {running} running already" if running > 0 else f"{where}, none running yet"


def nodes_first(desk: Desk, started: Mapping[str, int]) -> tuple[str, ...]:
    """Nodes that must start first."""
    return tuple(
        f"after {some(count, 'node')} of {pool} {'has' if count == 1 else 'have'} started"
        f" ({desk.running_nodes(pool)} of at most {desk.plan.pool(pool).nodes.high} run)"
        for pool, count in started.items()
    )


def nodes_taken(nodes: int) -> str:
    """Nodes of one pool."""
    return some(nodes, "node")


def some_replicas(why: str, started: int, wanted: int) -> str:
    """How far the pods come that queue one by one."""
    return why if not started else f"{started:,} of {wanted:,} pods start; for the next, {why}"


def not_judged(resources: Sequence[str]) -> str:
    """Resources of which the plan does not know what nodes have."""
    return f"whether its nodes have {listed(resources)} is not known here"


def many_replicas(judged: int) -> str:
    """Where the trying ended."""
    return f"only the first {judged:,} pods were tried"


def of_no_team(namespace: str) -> str:
    """A namespace without a queue."""
    return f"namespace {namespace} belongs to no team"


def outsider(whose: str, pool: str, why: str) -> str:
    """A job without a queue, and nodes that it may not have."""
    return f"{whose}, so no queue takes care of it; pool {pool}: {why}"


def past_the_queues(namespace: str) -> str:
    """A namespace without a queue, and nodes that let it in."""
    return f"{of_no_team(namespace)}: the job passes by every queue and quota"


def unknown_priority(name: str) -> str:
    """A priority that the platform did not make."""
    return (
        f"the priority class {name} is not of this platform: counted as 0;"
        " if the cluster has none of that name, nothing is queued"
    )


def priority_by_label_only(team: TeamPlan) -> str:
    """A default that nobody writes into jobs yet."""
    return (
        f"the priority {team.priority} of team {team.name} is not given to jobs by itself: without the label"
        f" {names.PRIORITY_LABEL} it counts as 0"
    )


def others_wait(count: int) -> str:
    """Jobs that are in the queues already."""
    return f"{some(count, 'job')} wait{'s' if count == 1 else ''} already, and may go first"


def use_orders(team: str) -> str:
    """Kueue asks what each of a team's queues has used before it asks for priority and age."""
    return (
        f"of the queues of {team} the one that used less is first, whatever the priority; what each has used"
        " is not known here"
    )


def use_evicts(team: str) -> str:
    """And so it does among those who could be evicted."""
    return (
        f"of the jobs of {team} those of the queue that used more are evicted first, whatever the priority;"
        " what each has used is not known here"
    )


def outside_pools() -> str:
    """Nodes that the plan knows nothing about."""
    return (
        "pods without GPUs go to nodes outside the pools; whether there is room is not known here"
    )


def stack_change(plan: PlatformPlan, desk: Desk, team: TeamPlan, found: Assignment) -> str:
    """The quota that would do, as a stack file counts it; "" when quota is not what is missing."""
    at = _at(plan, team)
    if found.unknown:
        offering = (p for p in plan.pools if any(a.resource == found.unknown for a in p.counted))
        if (pool := next(offering, None)) is None:
            return ""
        return f"give team {team.name} some of {pool.key(found.unknown)}: {at}.guarantee or .borrow"
    for key, total in found.uses.items():
        pool = plan.pool(key[0])
        offer = next((a for a in pool.counted if a.resource == key[1]), None)
        if offer is None or total <= desk.quotas.most(team.name, key):
            continue
        path = f"{at}.borrow.{pool.key(offer.resource)}"
        borrow = total - desk.quotas.nominal(team.name, key)
        reach = desk.quotas.reach(team.name, key)
        if total <= reach:
            return f"let team {team.name} borrow {borrow:,}: {path}: {borrow}"
        if bound := desk.quotas.bound(team.name, key):
            return (
                f"let cohort {bound.shown} borrow {total - reach:,} more,"
                f" and team {team.name} {borrow:,} in all ({path})"
            )
        nodes = pool.nodes.high + ceil((total - reach) / offer.per_node)
        index = [p.name for p in plan.pools].index(pool.name)
        return (
            f"let {pool.name} have {nodes:,} nodes (pools[{index}].nodes) and team {team.name}"
            f" borrow {borrow:,} ({path})"
        )
    return ""
