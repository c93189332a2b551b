"""CEL for changes to running workloads and Ray clusters: what runs stays what is counted.

Kueue stops a workload that runs more than it counted, but only after its own controller has created
the pods. So members cannot grow a running workload; with `suspend` in the same change it is counted
again.
"""

from gpuyard.render.admission.cel import (
    container_asks,
    is_gpu_name_expression,
    label,
    listed,
    message_expression,
    namespace_annotation,
    optional,
    quoted,
)
from gpuyard_core.admission import owned_objects, queued, remaining_pods, requirements
from gpuyard_core.admission.parameters import INTEGRATIONS
from gpuyard_core.manifests.queued import ROLES
from gpuyard_core.names import QUEUE_LABEL

GATED = (
    f"p.asks && {optional('p.spec', 'schedulingGates', '[]')}"
    f".exists(g, g.name == {quoted(queued.ELASTIC)})"
)
"""Whether the pods of a template wait until they are counted."""


def elastic_expression(value: str) -> str:
    """Whether the workload is counted as workload slices."""
    return f"({label(f'{value}.?metadata.?annotations', queued.ELASTIC)} == 'true')"


def controllers(value: str) -> str:
    """The controllers of an object, as FIELDS of each."""
    owners = optional(value, "metadata.ownerReferences", "[]")
    fields = ", ".join(optional("o", field, "''") for field in owned_objects.FIELDS)
    return f"{owners}.filter(o, {optional('o', 'controller', 'false')}).map(o, [{fields}])"


def is_queued_as_whole_expression(controller: str) -> str:
    """Whether a controller is queued as a whole."""
    group_and_kind = f"{controller}[0].split('/')[0] + '/' + {controller}[1]"
    known = f"[{group_and_kind}].exists(k, k in {listed(queued.QUEUE_FOR_THEIRS)}"
    return f"{known} || k in {namespace_annotation(INTEGRATIONS)}.split('\\n'))"


def _same_pod() -> str:
    def same(part: str) -> str:
        m, n = (optional(one, f"resources.{part}", "{}") for one in ("c", "o"))
        equal = f"k in {n} && '%s'.format([{m}[k]]) == '%s'.format([{n}[k]])"
        none_less = f"{n}.all(k, !({is_gpu_name_expression('k')}) || k in {m})"
        return f"{m}.all(k, !({is_gpu_name_expression('k')}) || ({equal})) && {none_less}"

    restarts = " == ".join(optional(one, "restartPolicy", "''") for one in ("c", "o"))
    container = f"o.name == c.name && {restarts} && {same('limits')} && {same('requests')}"
    names = " == ".join(
        f"{optional(one, 'spec.initContainers', '[]')}.map(c, c.name)" for one in ("p", "q")
    )
    return (
        f"p.containers.size() == q.containers.size() && {names}"
        f" && p.containers.all(c, q.containers.exists(o, {container}))"
    )


SAME_POD = _same_pod()
"""Whether pods p and q request the same GPUs, container by container."""


def same_gpu_requests_expression(pod: str, template: str) -> str:
    """Whether a pod requests the GPUs and devices of a template; other fields may differ.

    Limits are compared: the API server and Kueue derive requests from them.
    """
    m, n = (optional(one, "resources.limits", "{}") for one in ("c", "o"))
    equal = f"k in {n} && '%s'.format([{m}[k]]) == '%s'.format([{n}[k]])"
    other = f"!({is_gpu_name_expression('k')})"
    limits = f"{m}.all(k, {other} || ({equal})) && {n}.all(k, {other} || k in {m})"
    restarts = " == ".join(optional(one, "restartPolicy", "''") for one in ("c", "o"))

    def same(group: str) -> str:
        asking = (
            f"{optional(one, f'spec.{group}', '[]')}.filter(c, {container_asks('c')})"
            for one in (pod, template)
        )
        names = "l.map(c, c.name) == r.map(c, c.name)"
        each = f"l.all(c, r.exists(o, o.name == c.name && {restarts} && {limits}))"
        left, right = asking
        return f"[{left}].all(l, [{right}].all(r, {names} && {each}))"

    claims = " == ".join(optional(one, "spec.resourceClaims", "[]") for one in (pod, template))
    return f"{same('initContainers')} && {same('containers')} && {claims}"


def pods_per_template_expression(value: str) -> str:
    """The number of pods of each template, in their order, for kinds that are counted again."""
    jobs = (
        f"{optional(value, 'spec.replicatedJobs', '[]')}"
        ".filter(j, j.?template.?spec.?template.hasValue())"
        f".map(j, {optional('j', 'replicas', '1')} * {_runs_at_once('j.template')})"
    )
    hosts = optional("j", "numOfHosts", "1")
    workers = (
        f"{optional(value, 'spec.workerGroupSpecs', '[]')}.filter(j, j.?template.hasValue())"
        f".map(j, {optional('j', 'replicas', '1')} * ({hosts} > 1 ? {hosts} : 1))"
    )
    head = f"({value}.?spec.?headGroupSpec.?template.hasValue() ? [1] : [])"
    return (
        f"{_pods_per_role(value)}{value}.kind == 'JobSet' ? {jobs}"
        f" : {value}.kind == 'RayCluster' ? {head} + {workers} : []"
    )


def _pods_per_role(value: str) -> str:
    text = ""
    for kind, field in {"MPIJob": "mpiReplicaSpecs", **queued.ROLE_FIELDS}.items():
        roles = " + ".join(
            f"({value}.?spec.?{field}.?{role}.?template.hasValue()"
            f" ? [{optional(value, f'spec.{field}.{role}.replicas', '1')}] : [])"
            for role in ROLES[kind]
        )
        text += f"{value}.kind == {quoted(kind)} ? {roles} : "
    return text


def unknown_roles_expression() -> str:
    """Roles of replicas that Kueue does not count."""
    text = ""
    for kind, field in queued.ROLE_FIELDS.items():
        values = {"role": "r", "kind": quoted(kind), "roles": quoted(", ".join(ROLES[kind]))}
        sentence = message_expression(requirements.QUEUED, queued.UNCOUNTED, **values)
        roles = f"{optional('variables.it', f'spec.{field}', '{}')}.filter(r, !(r in {listed(ROLES[kind])}))"
        text += f"variables.it.kind == {quoted(kind)} ? {roles}.map(r, {sentence}) : "
    return f"{text}[]"


def _runs_at_once(job: str) -> str:
    parallelism = optional(job, "spec.parallelism", "1")
    completions = optional(job, "spec.completions", parallelism)
    return f"({completions} < {parallelism} ? {completions} : {parallelism})"


def changed_while_it_runs() -> str:
    """What members of a team must not change in a running or elastic workload."""
    running = f"variables.waited ? [] : ({_renewed()}) + ({_rerun()})"
    is_allowed = "variables.created || variables.by_controller"
    return f"{is_allowed} ? [] : ({running}) + ({_raised()})"


_ASKED = "(variables.all_pods + variables.old_pods).exists(p, p.asks)"


def _renewed() -> str:
    it, was = (
        optional(f"variables.{one}", ".".join(queued.CLUSTER_OF), "{}") for one in ("it", "was")
    )
    same = (
        f"{it}.all(k, k == 'suspend' || k in {was} && {it}[k] == {was}[k])"
        f" && {was}.all(k, k == 'suspend' || k in {it})"
    )
    sentence = message_expression(requirements.QUEUED, queued.RENEWED, kind="variables.it.kind")
    return (
        f"variables.it.kind == {quoted(queued.DOUBLED)} && {_ASKED} && !({same})"
        f" ? [{sentence}] : []"
    )


def is_or_was_elastic() -> str:
    """Whether the workload is counted as workload slices, or was."""
    either = " || ".join(map(elastic_expression, ("variables.it", "variables.was")))
    return f"(variables.it.kind != 'Pod' && ({either}))"


def _waiting_expression() -> str:
    """Whether each pod of the old workload waits until it is counted."""
    return f"({elastic_expression('variables.was')} && variables.old_pods.exists(p, {GATED}))"


def _raised() -> str:
    version, kind = map(quoted, queued.RUNS_JOBS)
    counted, wanted = map(_runs_at_once, ("variables.was", "variables.it"))
    raised, unheld = (
        message_expression(
            requirements.QUEUED, each, counted=f"string({counted})", wanted=f"string({wanted})"
        )
        for each in (queued.RAISED, queued.RAISED_UNGATED)
    )
    queues = f"{label('variables.was.?metadata.?labels', QUEUE_LABEL)} != ''"
    return (
        f"(variables.runs || {is_or_was_elastic()}) && variables.it.apiVersion == {version}"
        f" && variables.it.kind == {kind} && {queues} && !{_waiting_expression()}"
        " && variables.all_pods.exists(p, p.asks)"
        f" && {wanted} > {counted} ? [{is_or_was_elastic()} ? {unheld} : {raised}] : []"
    )


def _rerun() -> str:
    changes_spec = (
        f"variables.it.kind in {listed(queued.KEPT)}"
        f" && (variables.it.kind in {listed(queued.UNSEEN)} || {_ASKED})"
        " && variables.it.?spec != variables.was.?spec"
    )
    more = (
        f"{[*range(queued.MOST_TEMPLATES)]}.exists(i, i < variables.all_pods.size()"
        " && variables.all_pods[i].asks && (i >= variables.old_pods.size()"
        " || variables.counts[i] > variables.old_counts[i]"
        f" || ![variables.all_pods[i]].all(p, [variables.old_pods[i]].all(q, q.asks && {SAME_POD}))))"
    )
    counted = f"variables.it.kind in {listed(queued.RECOUNTED_ON_CHANGE)} && !{_waiting_expression()} && {more}"
    suspend_field = quoted(queued.SUSPEND_OF_OTHERS)
    field = "".join(
        f"variables.it.kind == {quoted(kind)} ? {quoted(at)} : "
        for kind, at in queued.SUSPEND_OF.items()
    )
    sentence = message_expression(
        requirements.QUEUED,
        queued.RERUN,
        kind="variables.it.kind",
        field=f"({field}{suspend_field})",
    )
    part = f"{controllers('variables.was')}.exists(c, {is_queued_as_whole_expression('c')})"
    return f"variables.runs && ({changes_spec} || {counted}) && !{part} ? [{sentence}] : []"


def outlives_pods_expression() -> str:
    """Finished workloads that keep their pods."""

    def said_in(one: str, path: tuple[str, ...], default: str) -> str:
        return optional(f"variables.{one}", ".".join(path), default)

    text = ""
    for kind, (path, fix) in remaining_pods.OUTLIVING.items():
        default = quoted("") if path == remaining_pods.CLEANS else "0"
        it, was = (said_in(one, path, default) for one in ("it", "was"))
        cleans = (
            f"{it} in {listed(remaining_pods.CLEANED)}"
            if path == remaining_pods.CLEANS
            else f"{it} <= {remaining_pods.LONGEST_STAY}"
        )
        before = f"!variables.created && variables.old_pods.exists(p, p.asks) && {it} == {was}"
        sentence = message_expression(
            requirements.QUEUED,
            remaining_pods.OUTLIVES,
            kind="variables.it.kind",
            field=quoted(fix),
        )
        text += (
            f"variables.it.kind == {quoted(kind)} ? ({cleans} || {before} ? [] : [{sentence}]) : "
        )
    it, was = (said_in(one, remaining_pods.STRATEGY, "{}") for one in ("it", "was"))
    kept = f"!variables.created && variables.old_pods.exists(p, p.asks) && {it} == {was}"
    sentence = message_expression(
        requirements.QUEUED,
        remaining_pods.OUTLIVES,
        kind="variables.it.kind",
        field=quoted(remaining_pods.NO_STRATEGY),
    )
    strategy = f"{it}.size() > 0 && !({kept}) ? [{sentence}] : []"
    of_kinds = f"variables.it.kind in {listed(remaining_pods.OUTLIVING)}"
    asks = "variables.all_pods.exists(p, p.asks)"
    return f"variables.by_controller || !({of_kinds}) || !{asks} ? [] : ({text}[]) + ({strategy})"


def ray_expression() -> str:
    """Pods that KubeRay creates for a Ray cluster beyond those that Kueue counts."""
    same = "!variables.created && variables.it.?spec == variables.was.?spec"
    places = "".join(
        f"variables.it.kind == {quoted(kind)} ? {optional('variables.it', '.'.join(at), '{}')} : "
        for kind, at in queued.RAY_GROUPS.items()
    )
    groups = f"({places}{{}}).?workerGroupSpecs.orValue([])"
    counted, least = optional("g", "replicas", "1"), optional("g", "minReplicas", "0")
    values = {
        "group": optional("g", "groupName", "''"),
        "counted": f"string({counted})",
        "least": f"string({least})",
    }
    asks = "variables.all_pods.exists(p, p.asks && p.spec == g.template.spec)"
    too_few = (
        f"{groups}.filter(g, {counted} < {least} && g.?template.hasValue() && {asks})"
        f".map(g, {message_expression(requirements.QUEUED, queued.LEAST, **values)})"
    )
    kind, selector = queued.SUBMITS_TO
    sentence = message_expression(requirements.QUEUED, queued.SUBMITS, kind="variables.it.kind")
    submits = (
        f"variables.it.kind == {quoted(kind)} && {optional('variables.it', f'spec.{selector}', '{}')}.size() > 0"
        f" && variables.all_pods.exists(p, p.asks) ? [{sentence}] : []"
    )
    of_kinds = f"variables.it.kind in {listed(queued.RAY_GROUPS)}"
    return f"variables.by_controller || !({of_kinds}) || ({same}) ? [] : {too_few} + ({submits})"
