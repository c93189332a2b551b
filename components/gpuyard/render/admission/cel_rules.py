"""The CEL twin of each requirement: an expression for a list of messages, empty if it is met.

`variables.pods` are the pods that the requirements apply to, each with metadata and spec.
"""

from collections.abc import Mapping

from gpuyard.render.admission.cel import (
    bind_variable,
    container_asks,
    containers,
    joined_messages,
    label,
    listed,
    message_expression,
    optional,
    quantity,
    quoted,
    required_namespace_annotation,
)
from gpuyard.render.admission.pod_expressions import pod_group
from gpuyard.render.admission.running_workloads import (
    GATED,
    SAME_POD,
    changed_while_it_runs,
    controllers,
    elastic_expression,
    is_or_was_elastic,
    is_queued_as_whole_expression,
    outlives_pods_expression,
    ray_expression,
    unknown_roles_expression,
)
from gpuyard_core.admission import (
    bypass,
    host,
    images,
    owned_objects,
    placement,
    priority_and_termination,
    queued,
    requirements,
)
from gpuyard_core.admission.parameters import GUARANTEED
from gpuyard_core.admission.requirement import Requirement
from gpuyard_core.manifests.pods import CONTAINER_GROUPS, VENDOR
from gpuyard_core.names import (
    CLASS_LABEL,
    CLASS_OF_POD,
    LOCAL_QUEUE,
    MOST_SHARES,
    QUEUE_GATE,
    QUEUE_LABEL,
    STOP_TAINT,
)
from gpuyard_core.names import shared_resource_name as shared_name


def _of_pods(lists: str) -> str:
    return joined_messages(f"variables.pods.map(p, {lists})")


def _bypass() -> str:
    env, mounts = (optional("c", field, "[]") for field in ("env", "volumeMounts"))
    value = optional("e", "value", quoted(""))
    known = f"e.name in {listed((*bypass.VARIABLES, *bypass.FABRIC))}"
    takes_gpus = f"{known} && (has(e.valueFrom) || !({value} in {listed(bypass.HARMLESS)}))"
    takes, takes_fabric = (
        message_expression(requirements.BYPASS, sentence, variable="e.name", container="c.name")
        for sentence in (bypass.TAKES, bypass.TAKES_FABRIC)
    )
    mounted = f"m.mountPath.split('/').exists(s, s == {quoted(bypass.FOLDER)})"
    mounts_it = message_expression(requirements.BYPASS, bypass.MOUNTS, container="c.name")
    of_container = (
        f"{env}.filter(e, {takes_gpus})"
        f".map(e, e.name in {listed(bypass.FABRIC)} ? {takes_fabric} : {takes})"
        f" + {mounts}.filter(m, {mounted}).map(m, {mounts_it})"
    )
    takes_some = f"{env}.exists(e, {known}) || {mounts}.exists(m, {mounted})"
    of_containers = joined_messages(f"p.containers.filter(c, {takes_some}).map(c, {of_container})")
    own = (
        f"{optional('c', 'resources.claims', '[]')}.size() > 0 || {container_asks('c')}"
        f" || {env}.exists(e, e.name == {quoted(bypass.VARIABLE)}"
        f" && {value} in {listed(bypass.HARMLESS[1:])})"
    )
    runtime = optional("p", "spec.runtimeClassName", quoted(""))
    sees_all = message_expression(
        requirements.BYPASS, bypass.SEES_ALL, container="c.name", runtime=runtime
    )
    of_runtime = (
        f"({runtime}.startsWith({quoted(bypass.RUNTIME)})"
        f" ? p.containers.filter(c, !({own})).map(c, {sees_all}) : [])"
    )
    annotations = (
        f"p.annotations.filter(a, {listed(bypass.DEVICES_SAID)}.exists(d, a.contains(d))"
        f" || !p.asks && a.contains({quoted(bypass.BESIDE_GPUS)}))"
        f".map(a, {message_expression(requirements.BYPASS, bypass.ANNOTATED, name='a')})"
    )
    return _of_pods(f"{of_containers} + {of_runtime} + {annotations}")


def _privileges() -> str:
    shared = " + ".join(
        f"({optional('p', f'spec.{field}', 'false')} ? [{message_expression(requirements.PRIVILEGES, sentence)}] : [])"
        for field, sentence in host.SHARES_HOST.items()
    )
    privileged, unmasked = (
        f"({wrong} ? [{message_expression(requirements.PRIVILEGES, sentence, container='c.name')}] : [])"
        for wrong, sentence in (
            (optional("c", "securityContext.privileged", "false"), host.PRIVILEGED),
            (
                f"{optional('c', 'securityContext.procMount', quoted(''))} == 'Unmasked'",
                host.UNMASKED,
            ),
        )
    )
    of_containers = joined_messages(
        f"p.containers.filter(c, has(c.securityContext)).map(c, {privileged} + {unmasked})"
    )
    return _of_pods(f"{shared} + {of_containers}")


def _devices() -> str:
    mounted = f"{optional('v', 'hostPath.path', quoted(''))} != ''"
    plain = "v.hostPath.path.split('/').filter(s, s != '' && s != '.').map(s, '/' + s).join('')"
    device = "n == d || n.startsWith(d + '/') || d.startsWith(n + '/')"
    hands_out = bind_variable(plain, "n", f"{listed(host.DEVICES)}.exists(d, {device})")
    sentence = message_expression(
        requirements.DEVICES, host.HANDS_OUT, volume="v.name", path="v.hostPath.path"
    )
    return _of_pods(
        f"{optional('p', 'spec.volumes', '[]')}.filter(v, {mounted} && {hands_out}).map(v, {sentence})"
    )


def _placing() -> str:
    key, operator = optional("t", "key", quoted("")), optional("t", "operator", quoted(""))
    every = f"{key} == '' && {operator} == 'Exists'"
    tolerates = (
        f"{key} == a.key && ({operator} == 'Exists' || {optional('t', 'value', quoted(''))} == a.value)"
        f" && {optional('t', 'effect', quoted(''))} in ['', a.effect]"
    )
    of_others = (
        f"variables.taints.filter(a, {tolerates})"
        f".map(a, {message_expression(requirements.PLACING, placement.OTHERS, key='t.key', taint='a.text')})"
    )
    kept_taint = (
        f"{key} in {listed(placement.NOT_OF_TEAMS)}"
        f" ? [{message_expression(requirements.PLACING, placement.KEPT, key='t.key')}] : []"
    )
    bypasses_stop = (
        f"{key} == {quoted(STOP_TAINT)}"
        f" ? [{message_expression(requirements.PLACING, placement.BYPASSES_STOP, key='t.key')}] : []"
    )
    no_gpu = (
        f"{key} in {listed(placement.GPU_NODES)} && !p.asks"
        f" ? [{message_expression(requirements.PLACING, placement.NO_GPU, key='t.key')}] : []"
    )
    tolerations = joined_messages(
        f"{optional('p', 'spec.tolerations', '[]')}"
        f".map(t, ({every} ? [{message_expression(requirements.PLACING, placement.EVERY_TAINT)}] : [])"
        f" + ({kept_taint}) + ({bypasses_stop}) + ({no_gpu}) + {of_others})"
    )
    other = "t.?namespaces.orValue([]).exists(n, n != request.namespace)"
    terms = optional("p", ".".join(("spec", *placement.ANTI)), "[]")
    apart = (
        f"{terms}.filter(t, t.?namespaceSelector.orValue(null) != null || {other})"
        f".map(t, {message_expression(requirements.PLACING, placement.APART, key=optional('t', 'topologyKey', quoted('')))})"
    )
    # the scheduler sets nodeName; only a creation can bypass the scheduler with it
    fresh = "(request.operation == 'CREATE' || variables.it.kind != 'Pod')"
    by_name = (
        f"{fresh} && {optional('p', 'spec.nodeName', quoted(''))} != ''"
        f" ? [{message_expression(requirements.PLACING, placement.BY_NAME, node='p.spec.nodeName')}] : []"
    )
    return _of_pods(f"{tolerations} + {apart} + ({by_name})")


def _repository(image: str) -> str:
    """The CEL twin of images.repository, one name a step."""
    hub = f"{images.HUB}/"
    tagless = (
        "r.substring(r.lastIndexOf('/') + 1).contains(':') ? r.substring(0, r.lastIndexOf(':')) : r"
    )
    registry = "f.contains('.') || f.contains(':') || f == 'localhost' || f != f.lowerAscii()"
    has_registry = bind_variable("n.split('/')[0]", "f", registry)
    is_full = f"n.contains('/') && {has_registry}"
    was = f"{images.OLD_HUB}/"
    old = f"n.startsWith({quoted(was)}) ? {quoted(hub)} + n.substring({len(was)}) : n"
    full = f"({is_full}) ? ({old}) : {quoted(hub)} + n"
    library = (
        f"n.startsWith({quoted(hub)}) && n.split('/').size() == 2"
        f" ? {quoted(f'{hub}{images.LIBRARY}/')} + n.substring({len(hub)}) : n"
    )
    return f"[{image}.split('@')[0]].map(r, {tagless}).map(n, {full}).map(n, {library})[0]"


def _sources() -> str:
    def elsewhere(what: str, one: str, image: str) -> str:
        repository = _repository(image)
        in_full = f"variables.allowed_images.exists(a, {image}.startsWith(a + '/'))"
        fits = bind_variable(
            repository, "n", "variables.allowed_images.exists(a, (n + '/').startsWith(a + '/'))"
        )
        allowed = f"variables.allowed_images.join({quoted(images.SEPARATOR)})"
        values = {"what": quoted(what), "name": f"{one}.name", "image": image, "allowed": allowed}
        sentence = message_expression(requirements.SOURCES, images.ELSEWHERE, **values)
        # nearly all are written in full, and need no normalisation as in a container runtime
        return f".filter({one}, {image} != '' && !{in_full} && !{fits}).map({one}, {sentence})"

    of_containers = "p.containers" + elsewhere("container", "c", optional("c", "image", "''"))
    of_volumes = optional("p", "spec.volumes", "[]") + elsewhere(
        "volume", "v", optional("v", "image.reference", "''")
    )
    result = _of_pods(f"{of_containers} + {of_volumes}")
    return f"variables.allowed_images.size() == 0 ? [] : {result}"


def _guaranteed() -> str:
    training = " || ".join(
        f"{label(one, CLASS_LABEL)} == {quoted(priority_and_termination.TRAINING)}"
        for one in ("variables.it.?metadata.?labels", "p.labels")
    )
    limit, request = (f"c.?resources.?{part}[?r]" for part in ("limits", "requests"))
    values = {"container": "c.name", "resource": "r"}
    no_limit = message_expression(
        requirements.GUARANTEED, priority_and_termination.NO_LIMIT, **values
    )
    less = message_expression(requirements.GUARANTEED, priority_and_termination.LESS, **values)
    amounts = (quantity(f"{each}.value()") for each in (request, limit))
    equal = " && ".join((f"{request}.hasValue()", f"{'.compareTo('.join(amounts)}) != 0"))
    each = f"!{limit}.hasValue() ? [{no_limit}] : {equal} ? [{less}] : []"
    of_containers = joined_messages(
        f"{containers('p', CONTAINER_GROUPS[:2])}"
        f".map(c, {joined_messages(f'{listed(priority_and_termination.RESOURCES)}.map(r, {each})')})"
    )
    inferred = f"{quoted(CLASS_OF_POD)} in p.annotations"
    result = _of_pods(f"!({inferred}) && ({training}) ? {of_containers} : []")
    return f"{required_namespace_annotation(GUARANTEED)} == 'true' ? {result} : []"


def _turns() -> str:
    name, number = (
        optional("p", "spec.priorityClassName", "''"),
        optional("p", "spec.priority", "1"),
    )
    denial = message_expression(
        requirements.TURNS, priority_and_termination.PRIORITY, name="p.spec.priorityClassName"
    )
    priority = (
        f"{name} != '' && !({name} in variables.priority_classes) && {number} > 0 ? [{denial}] : []"
    )
    probes = ", ".join(
        optional("c", f"{probe}.{priority_and_termination.GRACE}", "0")
        for probe in priority_and_termination.PROBES
    )
    lingers = message_expression(
        requirements.TURNS,
        priority_and_termination.LINGERS,
        seconds="string(s)",
        longest="string(n)",
    )
    too_long = f".filter(s, s > n).map(s, {lingers})"
    of_containers = joined_messages(f"p.containers.map(c, [{probes}]{too_long})")
    of_pod = f"[{optional('p', f'spec.{priority_and_termination.GRACE}', '0')}]{too_long}"
    longest = f"p.asks ? variables.longest_grace : {priority_and_termination.LONGEST_GRACE}"
    grace = bind_variable(longest, "n", f"{of_pod} + {of_containers}")
    kept_finalizer = message_expression(
        requirements.TURNS, priority_and_termination.STAYS, name="f"
    )
    stays = (
        "variables.it.kind == 'Pod' && variables.by_controller ? [] : p.finalizers"
        f".filter(f, !(f in {listed(priority_and_termination.FINALIZERS)})).map(f, {kept_finalizer})"
    )
    listed_ones = f"variables.priorities.join({quoted(priority_and_termination.SEPARATOR)})"
    allowed = f"(variables.priorities.size() == 0 ? {quoted(priority_and_termination.NONE)} : {listed_ones})"
    of_others = message_expression(
        requirements.TURNS, priority_and_termination.OF_OTHERS, name="n", allowed=allowed
    )
    in_queues = (
        "variables.named_priorities.filter(n, n != '' && !(n in variables.priorities)"
        f" && !(n in variables.old_priorities)).map(n, {of_others})"
    )
    return f"{_of_pods(f'({priority}) + ({grace}) + ({stays})')} + {in_queues}"


def _shares() -> str:
    limits = optional("c", "resources.limits", "{}")
    several = f"{quantity(f'{limits}[r]')}.isGreaterThan(quantity({quoted(str(MOST_SHARES))}))"
    named = f"r.startsWith({quoted(VENDOR)}) && r.endsWith({quoted(shared_name(''))})"
    shared = f"({named} || r in variables.shares) && {several}"
    sentence = message_expression(
        requirements.SHARES, placement.SEVERAL, container="c.name", resource="r"
    )
    of_containers = joined_messages(
        f"{containers('p', CONTAINER_GROUPS[:2])}"
        f".map(c, {limits}.filter(r, {shared}).map(r, {sentence}))"
    )
    return _of_pods(f"p.asks ? {of_containers} : []")


def _volumes() -> str:
    driver = optional("v", f"{host.INLINE}.driver", quoted(""))
    inline = f"k == {quoted(host.INLINE)}"
    types = (
        f"v.filter(k, !(k in {listed((host.NAME, *host.TYPES))}"
        f" || {inline} && {driver} in variables.csi_drivers))"
    )
    of_driver = message_expression(
        requirements.VOLUMES, host.OF_DRIVER, volume="v.name", driver=driver
    )
    mounted = message_expression(requirements.VOLUMES, host.PAST, volume="v.name", type="k")
    past = f"{types}.map(k, {inline} ? {of_driver} : {mounted})"
    volume_name = optional("v", ".".join(host.TEMPLATE), quoted(""))
    values = {"what": quoted("volume"), "name": "v.name", "volume": volume_name}
    by_name = f"{volume_name} != '' ? [{message_expression(requirements.VOLUMES, host.BY_NAME, **values)}] : []"
    each = joined_messages(f"{optional('p', 'spec.volumes', '[]')}.map(v, {past} + ({by_name}))")
    return _of_pods(each)


def _owned() -> str:
    values = {"kind": "variables.it.kind", "owner": "c[1]", "name": "c[2]"}
    from_cron = "[variables.it.kind, c[0], c[1]] == " + listed(owned_objects.FROM_CRON)
    named_by_hand = (
        f"variables.controllers.filter(c, !({from_cron}))"
        f".map(c, {message_expression(requirements.OWNED, owned_objects.NAMED, **values)})"
    )
    changed = (
        f"variables.controllers != {controllers('variables.was')}"
        f" ? [{message_expression(requirements.OWNED, owned_objects.CHANGED, kind='variables.it.kind')}] : []"
    )
    return f"variables.by_controller ? [] : variables.created ? {named_by_hand} : {changed}"


def _grows() -> str:
    differs = (
        f"{[*range(queued.MOST_TEMPLATES)]}.exists(i, i < variables.all_pods.size()"
        " && [variables.all_pods[i]].exists(p,"
        f" [variables.old_pods[i]].exists(q, (p.asks || q.asks) && !({SAME_POD}))))"
    )
    number = "variables.all_pods.size() != variables.old_pods.size()"
    once = f"{_own()} && variables.it.kind in {listed(queued.COUNTED_ONCE)}"
    now, before = (
        f"variables.{pods}.map(p, {optional('p', 'spec.resourceClaims', '[]')})"
        for pods in ("all_pods", "old_pods")
    )
    claims = (
        f"!variables.by_controller && {_own()} && variables.it.kind in {listed(queued.OF_ITSELF[1:])}"
        f" && !({number}) && {now} != {before}"
    )
    return (
        f"({claims}) || ({once} || {is_or_was_elastic()}) && ({number} || {differs})"
        f" ? [{message_expression(requirements.QUEUED, queued.GROWS, kind='variables.it.kind')}] : []"
    )


def _own() -> str:
    """Whether the workload names a queue itself, or did before the update."""
    names = (
        f"{label(f'variables.{one}.?metadata.?labels', QUEUE_LABEL)} != ''" for one in ("it", "was")
    )
    return f"({' || '.join(names)})"


def _past_count() -> str:
    starts = (
        f"variables.starts && !variables.by_controller && variables.it.kind in {listed(queued.OF_ITSELF)}"
        f" ? [{message_expression(requirements.QUEUED, queued.STARTS, kind='variables.it.kind')}] : []"
    )
    once = f"({_grows()}) + ({_ungated()})"
    of_queues = f"({_renumbered()}) + ({changed_while_it_runs()}) + ({starts})"
    return f"variables.created ? [] : {once} + ({_own()} ? {of_queues} : [])"


def _ungated() -> str:
    less = " < ".join(
        f"variables.{pods}.filter(p, {GATED}).size()" for pods in ("all_pods", "old_pods")
    )
    sentence = message_expression(
        requirements.QUEUED, queued.UNGATED, kind="variables.it.kind", gate=quoted(queued.ELASTIC)
    )
    version, kind = map(quoted, queued.RUNS_JOBS)
    taken_back = (
        f"variables.by_controller && variables.waited && !variables.starts"
        f" && variables.it.apiVersion == {version} && variables.it.kind == {kind}"
    )
    return f"{is_or_was_elastic()} && {less} && !({taken_back}) ? [{sentence}] : []"


def _renumbered() -> str:
    first = " != ".join(
        optional(f"variables.{one}", "spec.ordinals.start", "0") for one in ("it", "was")
    )
    sentence = message_expression(requirements.QUEUED, queued.RENUMBERED, kind="variables.it.kind")
    return (
        f"variables.it.kind == {quoted(queued.NUMBERED)} && {first}"
        f" && (variables.all_pods + variables.old_pods).exists(p, p.asks) ? [{sentence}] : []"
    )


def _part() -> str:
    it, was = map(elastic_expression, ("variables.it", "variables.was"))
    same = f"variables.it.?spec == variables.was.?spec && {it} == {was}"
    is_recounted = f"variables.it.kind == {quoted(queued.ELASTIC_PART)} && {it} && {was}"
    asks = "(variables.all_pods + variables.old_pods).exists(p, p.asks)"
    sentence = message_expression(
        requirements.QUEUED, queued.PART, kind="variables.it.kind", owner="c[1]", name="c[2]"
    )
    return (
        "variables.created || variables.by_controller || variables.it.kind == 'Pod'"
        f" || ({same}) || ({is_recounted}) || !{asks} ? []"
        f" : {controllers('variables.was')}.filter(c, {is_queued_as_whole_expression('c')}).map(c, {sentence})"
    )


_OWN = ("", ".?spec.?jobTemplate")
"""Paths of the metadata of a workload, and of the jobs that it creates."""


def named_workloads(one: str, pods: str) -> str:
    """The Kueue workloads that an object names: itself, for its jobs and in its pods."""
    value = f"variables.{one}"

    def all_of(name: str) -> str:
        results = (
            f"({value}.kind == 'Pod' ? []"
            f" : [{', '.join(label(f'{value}{at}.?metadata.?{part}', name) for at in _OWN)}])"
            f" + variables.{pods}.map(p, {label(f'p.{part}', name)})"
            for part in ("labels", "annotations")
        )
        return f"({' + '.join(results)})"

    of_sets = " || ".join(f"n.startsWith({quoted(each)})" for each in queued.OF_SETS)
    return (
        f"({all_of(queued.PREBUILT)}.filter(n, n != '')"
        f" + {all_of(queued.GROUP)}.filter(n, {of_sets}))"
    )


def _joins() -> str:
    sentence = message_expression(
        requirements.QUEUED, queued.JOINS, kind="variables.it.kind", name="n"
    )
    new = "variables.named_workloads.filter(n, !(n in variables.old_workloads))"
    # an object that a controller creates from an unchecked template has the labels of a member
    owned_pod = (
        "variables.created && variables.it.kind == 'Pod' && variables.controllers.size() > 0"
        f" && !variables.controllers.exists(c, {is_queued_as_whole_expression('c')})"
    )
    return f"variables.by_controller && !({owned_pod}) ? [] : {new}.map(n, {sentence})"


def _timed() -> str:
    sentence = message_expression(
        requirements.QUEUED, queued.TIMED, group="g", time=quoted(queued.TIME)
    )
    timed = f"g != '' && {label('p.labels', queued.TIME)} != '' ? [{sentence}] : []"
    of_pods = _of_pods(bind_variable(pod_group("p.labels", "p.annotations"), "g", timed))
    return f"variables.by_controller && !variables.created ? [] : {of_pods}"


def _disallowed_parents() -> str:
    makers = "(variables.by_controller ? variables.controllers.map(c, c[1]) : [])"
    of_makers = "".join(
        f"k == {quoted(kind)} ? {listed(parents)} : " for kind, parents in queued.MAKES.items()
    )
    of_kind = "".join(
        f"variables.it.kind == {quoted(kind)} ? {listed(parents)} : "
        for kind, parents in queued.HOLDS.items()
    )
    of_sets = (
        f"variables.it.kind == 'StatefulSet' && {makers}.exists(k, k in {listed(queued.MAKES_SETS)})"
        f" ? {listed([queued.BY_GROUPS])} : []"
    )
    mine = (
        f"variables.it.kind == 'Pod' ? {makers}.exists(k, n in ({of_makers}[]))"
        f" : n in ({of_kind}[]) || n in ({of_sets})"
    )
    sentence = message_expression(
        requirements.QUEUED, queued.HELD, kind="variables.it.kind", parent="n"
    )
    return (
        f"variables.parents.filter(n, !({mine}) && !(n in variables.old_parents))"
        f".map(n, {sentence})"
    )


def parents(pods: str) -> str:
    """The owners that pods name in their annotations and labels."""
    value = f"variables.{pods}"
    annotated_by = label("p.annotations", queued.PARENT)
    groups = quoted(queued.GROUPS_NAME)
    return (
        f"({value}.map(p, {annotated_by}).filter(n, n != '')"
        f" + {value}.filter(p, {groups} in p.labels).map(p, {quoted(queued.BY_GROUPS)}))"
    )


def _keeps_pods() -> str:
    finalizers, before = (
        optional(f"variables.{one}", "metadata.finalizers", "[]") for one in ("it", "was")
    )
    keeps_pods, stays = (
        message_expression(requirements.QUEUED, sentence, kind="variables.it.kind", name="f")
        for sentence in (queued.KEEPS_PODS, queued.STAYS_ITSELF)
    )
    return (
        f"!variables.by_controller && (variables.it.kind in {listed(queued.OF_ITSELF[1:])}"
        f" || variables.it.kind != 'Pod' && variables.controllers.exists(c, {is_queued_as_whole_expression('c')}))"
        f" ? {finalizers}.filter(f, f != {quoted(queued.ENDS)} && (variables.created || !(f in {before})))"
        f".map(f, f == {quoted(queued.ORPHAN)} ? {keeps_pods} : {stays}) : []"
    )


def _second_owner() -> str:
    now, before = (
        f"{optional(f'variables.{one}', 'metadata.ownerReferences', '[]')}.map(o, o.uid)"
        for one in ("it", "was")
    )
    values = {"kind": "variables.it.kind", "owner": "c[1]", "name": "c[2]"}
    sentence = message_expression(requirements.QUEUED, queued.SECOND_OWNER, **values)
    return (
        "variables.created || variables.by_controller || variables.it.kind == 'Pod'"
        f" || {now}.all(u, u in {before}) ? []"
        f" : variables.controllers.exists(c, {is_queued_as_whole_expression('c')})"
        f" ? variables.controllers.map(c, {sentence}) : []"
    )


def _queued() -> str:
    owner_queues = f"variables.controllers.exists(c, {is_queued_as_whole_expression('c')})"
    version, kind = map(quoted, queued.LABELS_LATER)
    labels_later = f"variables.controllers.exists(c, c[0] == {version} && c[1] == {kind})"
    gates = optional("variables.it", "spec.schedulingGates", "[]")
    held_by_kueue = (
        f"(variables.it.kind == 'Pod' && {gates}.exists(g, g.name == {quoted(QUEUE_GATE)})"
        f" && {labels_later})"
    )
    # Kueue has already set its labels by now; for other kinds it labels the jobs or pods when
    # created
    of_itself = f"variables.it.kind in {listed(queued.OF_ITSELF)}"
    by_default = f"!({of_itself}) && {quoted(LOCAL_QUEUE)} in variables.queues"
    jobs = f"variables.it.kind == {quoted(queued.CRON)}"
    itself, its_jobs, its_pods = map(quoted, (queued.ITSELF, queued.ITS_JOBS, queued.ITS_PODS))
    place = f"({of_itself} ? {itself} : {jobs} ? {its_jobs} : {its_pods})"
    values = {"kind": "variables.it.kind", "place": place, "queue": "variables.queues[0]"}
    unseen = f"variables.it.kind in {listed(queued.UNSEEN)}"
    asks = f"({unseen} || variables.all_pods.exists(p, p.asks))"
    no_queue, unknown = (
        message_expression(requirements.QUEUED, each, **values)
        for each in (queued.NO_QUEUE, queued.UNKNOWN)
    )
    past_queues = (
        f"variables.queue == '' && variables.enters && !({by_default}) && !{owner_queues}"
        f" && !{held_by_kueue} && {asks} ? [{unseen} ? {unknown} : {no_queue}] : []"
    )
    results = (
        _joins(),
        _timed(),
        _disallowed_parents(),
        _keeps_pods(),
        _second_owner(),
        ray_expression(),
        outlives_pods_expression(),
        unknown_roles_expression(),
        _part(),
        _past_count(),
    )
    parts = (past_queues, *results)
    return " + ".join(f"({each})" for each in parts)


def variable_of(requirement: Requirement) -> str:
    """The name of the variable with the messages of a requirement."""
    return requirement.id.lower().replace("-", "_")


CEL_RULES: Mapping[str, tuple[Requirement, str]] = {
    variable_of(twin[0]): twin
    for twin in (
        (requirements.QUEUED, _queued()),
        (requirements.OWNED, _owned()),
        (requirements.BYPASS, _bypass()),
        (requirements.PRIVILEGES, _privileges()),
        (requirements.DEVICES, _devices()),
        (requirements.PLACING, _placing()),
        (requirements.SOURCES, _sources()),
        (requirements.GUARANTEED, _guaranteed()),
        (requirements.TURNS, _turns()),
        (requirements.SHARES, _shares()),
        (requirements.VOLUMES, _volumes()),
    )
}
"""By the name of its variable."""
