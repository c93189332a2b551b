"""The policy that labels workloads with GPUs by class, as `gpuyard classify` decides (decision 99).

Each function returns CEL for a part of `gpuyard.job_classes`, with the same words and weights.
"""

from collections.abc import Iterable, Iterator, Mapping

from gpuyard.job_classes import classify, signals
from gpuyard.job_classes.signals import JobClass
from gpuyard.plan.records import PlatformPlan
from gpuyard.render.admission.cel import (
    bind_variable,
    containers,
    listed,
    optional,
    quantity,
    quoted,
)
from gpuyard.render.admission.pod_expressions import pod_asks
from gpuyard.render.objects import Object, managed_object, namespaces_with
from gpuyard.spec.sections import Admission
from gpuyard_core import names
from gpuyard_core.catalogue.kubernetes.api import changes_jobs
from gpuyard_core.findings import Path
from gpuyard_core.manifests.queued import QUEUED_KINDS
from gpuyard_core.manifests.templates import EACH, KINDS, PodsForm
from gpuyard_core.names import CLASS_LABEL, CLASS_OF_POD, TEAM_LABEL, classes_policy_name

API = "admissionregistration.k8s.io/v1"
LEAST_POINTS = 5
"""Minimum points of a class that the policy sets: its kind, its program, or several weaker pieces."""
_CLASSES = tuple(each for each in JobClass if each not in (JobClass.REAL_TIME, JobClass.OTHER))
"""Classes with evidence, in the order that decides between equal points."""
_LONGEST, _MOST_WORDS = signals.MAX_TEXT, signals.MAX_PIECES
"""Of longer texts and commands, which `classify` cuts off, the policy infers no class."""
_NO_OWN_PODS = ("DaemonSet", "AppWrapper", "Service.serving.knative.dev")
_KINDS = {
    kind: found
    for kind, found in KINDS.items()
    if found.makes_pods and found.name not in _NO_OWN_PODS
}
"""Kinds that the policy labels, by group and kind."""
_UNSEEN = {"TrainJob": "trainer", "InferenceService": "predictor"}
"""Kinds without a pod template, and the field with its image and command; a controller knows its GPUs."""
_UNLABELLED_TEMPLATES = ("Notebook",)
"""Kinds whose template has no metadata; the controller copies the labels of the object to its pods."""
_MARKS = {
    "jobset.sigs.k8s.io/jobset-name": "JobSet",
    "leaderworkerset.sigs.k8s.io/name": "LeaderWorkerSet",
    "notebook-name": "Notebook",
    "serving.kserve.io/inferenceservice": "InferenceService",
}
"""Labels by which pods show the kind that they belong to, where their owner is another one."""
_RAY_KIND = "ray.io/originated-from-crd"
"""Label of Ray's pods: the kind from which their cluster originates."""
_WORD = "[A-Z]+[a-z0-9]*|[a-z0-9]+"
"""A word, as `signals.words_of` splits text."""
_SHELL_WORD = r"""(?:[^\s;&|()"']|"[^"]*"|'[^']*')+|[;&|()]+"""
_CLOSED = r"""^(?:[^"']|"[^"]*"|'[^']*')*$"""
"""A script in which all quotes are closed."""
_COMMENT = r"^[ \t]*#"
_NEW_COMMAND, _NEW_WORD = "\x01", "\x02"


def class_objects(plan: PlatformPlan) -> list[Object]:
    """The policy and its binding; none if it is off, without teams or support of the API server."""
    wanted = (plan.spec.admission or Admission()).set_classes
    if wanted is False or not plan.teams or not changes_jobs(plan.kubernetes):
        return []
    name = classes_policy_name(plan.name)
    policy = {
        "failurePolicy": "Ignore",
        "reinvocationPolicy": "Never",
        "matchConstraints": {
            "resourceRules": [
                {
                    "apiGroups": [group],
                    "apiVersions": ["*"],
                    "operations": ["CREATE"],
                    "resources": kinds,
                }
                for group, kinds in _plurals().items()
            ]
        },
        "matchConditions": [{"name": "on-its-own", "expression": _on_its_own()}],
        "variables": [{"name": key, "expression": text} for key, text in _variables()],
        "mutations": [{"patchType": "JSONPatch", "jsonPatch": {"expression": _patches()}}],
    }
    selector = namespaces_with(plan.name, TEAM_LABEL)
    binding = {"policyName": name, "matchResources": {"namespaceSelector": selector}}
    return [
        managed_object(plan.name, API, "MutatingAdmissionPolicy", name, spec=policy),
        managed_object(plan.name, API, "MutatingAdmissionPolicyBinding", name, spec=binding),
    ]


def _plurals() -> dict[str, list[str]]:
    results: dict[str, list[str]] = {}
    for kind in sorted(_KINDS):
        group, _, name = kind.rpartition("/")
        known = QUEUED_KINDS.get(kind)
        results.setdefault(group, []).append(known.plural if known else f"{name.lower()}s")
    return results


def _owners(kinds: str) -> str:
    owners = optional("object", "metadata.ownerReferences", "[]")
    return f"{owners}.exists(o, o.?controller.orValue(false) && {kinds})"


def _on_its_own() -> str:
    """Pods, and workloads that no controller reconciles; Trainer applies a JobSet without removing labels of others."""
    of_trainer = "object.kind == 'JobSet' && o.kind == 'TrainJob'"
    return f"object.kind == 'Pod' || !{_owners(f'!({of_trainer})')}"


def _variables() -> Iterator[tuple[str, str]]:
    """The parts of the decision; the API server evaluates each that is used, once."""
    it, own = "variables.it", "t.of"
    metadata = {key: optional(it, f"metadata.{key}", "''") for key in ("name", "generateName")}
    yield "it", "dyn(object)"
    owners = optional(it, "metadata.ownerReferences", "[]")
    yield "owners", f"{owners}.filter(o, o.?controller.orValue(false))"
    yield "owned", "variables.owners.size() > 0"
    yield "own_labels", optional(it, "metadata.labels", "{}")
    yield "kind", _kind()
    yield "name", f"{metadata['name']} != '' ? {metadata['name']} : {metadata['generateName']}"
    yield "templates", _templates()
    of_jobs = optional(it, "spec.jobTemplate.metadata.labels", "{}")
    of_pods = f"variables.templates.map(t, {optional(own, 'metadata.labels', '{}')})"
    yield "labels", f"[variables.own_labels, {of_jobs}] + {of_pods}"
    yield "words", _table(signals.WORDS)
    yield "programs", _table(signals.PROGRAMS)
    yield "images", _table(signals.IMAGES)
    restarted = "filter(c, c.?restartPolicy.orValue('') == 'Always')"
    sidecars = f"{optional(own, 'spec.initContainers', '[]')}.{restarted}"
    main = optional(own, "spec.containers", "[]")
    yield "pods", f"variables.templates.map(t, {main} + {sidecars})"
    yield "containers", "variables.pods.flatten()"
    asks = bind_variable(containers(own), "l", pod_asks(own, "l"))
    yield "asks", f"variables.templates.exists(t, {asks})"
    yield "texts", "variables.containers.map(c, c.?command.orValue([]) + c.?args.orValue([]))"
    yield "scripts", f"variables.texts.map(w, {_script()})"
    unwrapped = f"filter(c, c != '').map(c, {_unwrapped()})"
    commands = f"variables.texts.map(w, {_commands()}).flatten().{unwrapped}"
    yield "commands", f"{commands}.filter(c, {_is_evidence('c')})"
    yield "listens", "variables.containers.exists(c, c.?ports.orValue([]).size() > 0)"
    yield "probed", "variables.containers.exists(c, c.?readinessProbe.orValue({}).size() > 0)"
    yield "names", _names()
    yield "readable", _readable()
    yield "evidence", _evidence()
    weights = "variables.evidence.filter(e, e[0] == k).map(e, int(e[1])).sum()"
    yield "points", f"{listed(_CLASSES)}.map(k, {weights})"
    winner = f"{listed(_CLASSES)}[variables.points.indexOf(variables.points.max())]"
    yield "best", f"variables.points.max() < {LEAST_POINTS} ? '' : {winner}"
    applies = f"(variables.asks || variables.kind in {listed(_UNSEEN)}) && variables.readable"
    finite = f"variables.best == {quoted(JobClass.INFERENCE)} ? {_refined()} : variables.best"
    yield "inferred", f"{applies} ? ({finite}) : ''"
    yield "written", _labels_named(CLASS_LABEL)
    known = f"variables.written[0] in {listed(JobClass)} ? variables.written[0] : ''"
    yield "class", f"variables.written.size() > 0 ? ({known}) : variables.inferred"


def _kind() -> str:
    """The kind of the workload, as `classify` names it; of a pod, that of the object it belongs to."""
    of_volcano = "'Job.batch.volcano.sh'"

    def named(one: str) -> str:
        return f"({one}.apiVersion.startsWith('batch.volcano.sh/') ? {of_volcano} : {one}.kind)"

    marks = "".join(
        f"{quoted(mark)} in variables.own_labels ? {quoted(kind)} : "
        for mark, kind in _MARKS.items()
    )
    ray = f"{quoted(_RAY_KIND)} in variables.own_labels ? variables.own_labels[{quoted(_RAY_KIND)}] : "
    owner = named("variables.owners[0]")
    of_pod = f"{ray}{marks}{owner}"
    return (
        f"!variables.owned ? {named('variables.it')}"
        f" : variables.it.kind == 'Pod' ? ({of_pod}) : {owner}"
    )


# ── where a workload has its pods ─────────────────────────────────────────────────────────────────


def _templates() -> str:
    """Templates with their JSON pointer; the pointer is empty where no label can be set."""
    it = "variables.it"
    alone = f"[{{'at': dyn(''), 'of': {it}}}]"
    cases = [f"{it}.kind == 'Pod' ? {alone}"]
    for kind, found in _KINDS.items():
        group, _, name = kind.rpartition("/")
        if name == "Pod":
            continue
        if field := _UNSEEN.get(name):
            value = optional(it, f"spec.{field}", "{}")
            inner = f"{{'containers': [{value}]}}" if name == "TrainJob" else value
            text = f"[{{'at': dyn(''), 'of': dyn({{'spec': dyn({inner})}})}}]"
        else:
            labels = found.name not in _UNLABELLED_TEMPLATES
            places = [place.at for place in found.places if place.form is PodsForm.TEMPLATE]
            text = f"({' + '.join(_places(at, labels=labels) for at in places)})"
        version = quoted(f"{group}/" if group else "v1")
        cases.append(
            f"{it}.apiVersion.startsWith({version}) && {it}.kind == {quoted(name)} ? {text}"
        )
    return f"{' : '.join(cases)} : []"


def _places(at: Path, *, labels: bool) -> str:
    """The templates at one path; `EACH` stands for the items of a list or the values of a mapping."""
    it = "variables.it"

    def place(value: str, pointer: str, rest: Path) -> str:
        there = f"{value}.?{'.?'.join(map(str, rest))}"
        where = f"{pointer} + {quoted('/' + '/'.join(map(str, rest)))}" if labels else "''"
        return f"({there}.hasValue() ? [{{'at': dyn({where}), 'of': dyn({there}.value())}}] : [])"

    if EACH not in at:
        return place(it, "''", at)
    before, after = at[: at.index(EACH)], at[at.index(EACH) + 1 :]
    many = optional(it, ".".join(map(str, before)), "[]")
    pointer = quoted("/" + "/".join(map(str, before)) + "/")
    if str(before[-1]).endswith("ReplicaSpecs"):
        many = optional(it, ".".join(map(str, before)), "{}")
        return f"{many}.map(k, {place(f'{many}[k]', f'{pointer} + k', after)}).flatten()"
    return f"{many}.transformList(i, v, {place('v', f'{pointer} + string(i)', after)}).flatten()"


def _patches() -> str:
    """Add the label to the workload and its templates where it is missing; mark objects of controllers."""
    without = f"!({quoted(CLASS_LABEL)} in {optional('t.of', 'metadata.labels', '{}')})"
    own = "[{'at': dyn(''), 'of': variables.it}]"
    targets = f"({own} + variables.templates.filter(t, t.at != '')).filter(t, {without})"
    marked = "variables.owned && variables.written.size() == 0"
    marks = f"{marked} ? {targets}.map(t, {_set('annotations', CLASS_OF_POD, quoted('true'))}) : []"
    # a template without metadata gets it with the label
    labels = f"{targets}.map(t, {_set('labels', CLASS_LABEL, 'variables.class')})"
    return f"variables.class == '' ? [] : {labels} + ({marks})"


def _set(field: str, key: str, value: str) -> str:
    """A patch that sets one label or annotation of the target `t`."""

    def add(path: str, added: str) -> str:
        return f"JSONPatch{{op: 'add', path: t.at + {quoted(path)}, value: {added}}}"

    one = f"{{{quoted(key)}: {value}}}"
    lacks = f"{optional('t.of', f'metadata.{field}', '{}')}.size() == 0"
    whole = add("/metadata", f"{{{quoted(field)}: {one}}}") if field == "labels" else ""
    below = add(f"/metadata/{field}", one)
    missing = f"t.of.?metadata.hasValue() ? {below} : {whole}" if whole else below
    return f"!({lacks}) ? {add(f'/metadata/{field}/' + key.replace('/', '~1'), value)} : {missing}"


# ── evidence ──────────────────────────────────────────────────────────────────────────────────────


def _table(table: Mapping[str, JobClass]) -> str:
    return f"{{{', '.join(f'{quoted(word)}: {quoted(table[word])}' for word in sorted(table))}}}"


def _words(text: str) -> str:
    """The words of a text in lower case, then each two adjacent words joined."""
    words = f"{text}.findAll({quoted(_WORD)}).map(w, w.lowerAscii())"
    return bind_variable(words, "l", "l + l.transformList(i, v, i + 1 < l.size(), v + l[i + 1])")


def _matches(words: str, table: str, weight: int, where: str) -> str:
    """Each class once, by its first word in a location."""
    hits = f"{words}.filter(w, w in variables.{table})"
    first = f"h.filter(w, variables.{table}[w] == k)"
    return bind_variable(
        hits,
        "h",
        f"{listed(_CLASSES)}.map(k, {first}).filter(m, m.size() > 0)"
        f".map(m, [variables.{table}[m[0]], '{weight}', {where} + ' ' + m[0]])",
    )


def _image_words(image: str) -> str:
    first = "p.split('/')[0]"
    registry = f"p.contains('/') && ({first}.contains('.') || {first}.contains(':') || {first} == 'localhost')"
    path = f"[{image}.split('@')[0]].map(p, {registry} ? p.substring(p.indexOf('/') + 1) : p)"
    return _words(
        f"{path}.map(p, p.lastIndexOf(':') > 0 ? p.substring(0, p.lastIndexOf(':')) : p)[0]"
    )


def _base(word: str) -> str:
    return f"{word}.substring({word}.lastIndexOf('/') + 1)"


def _pattern(pattern: str) -> str:
    return quoted(f"^(?s:{pattern})$")


def _script() -> str:
    """The script of a shell among the words `w`, [] without one."""
    flags = (
        f"w.transformList(j, x, j > i && j + 1 < w.size() && x.matches({quoted('^-[a-z]*c$')})"
        f" && w.transformList(k, y, k > i && k <= j && !y.startsWith('-')"
        f" && !w[k - 1].matches({_pattern(signals.OPTION.pattern)}), k).size() == 0, j)"
    )
    shells = f"w.transformList(i, x, i + 1 < w.size() && {_base('x')} in {listed(sorted(signals.SHELLS))}, {flags})"
    return f"{shells}.flatten().transformList(i, j, i == 0, w[j + 1])"


def _commands() -> str:
    """The commands of a container, each as one text, with a separator before each word."""
    code = (
        f"s.split('\\n').filter(l, !l.matches({quoted(_COMMENT)})).join('\\n')"
        ".replace('\\\\\\n', ' ').replace('\\n', ' ; ')"
    )
    separators = listed(sorted(signals.SEPARATORS - {"\n"}))
    plain = "t.replace('\"', '').replace(\"'\", '')"
    token = bind_variable(
        plain, "u", f"u in {separators} ? {quoted(_NEW_COMMAND)} : {quoted(_NEW_WORD)} + u"
    )
    of_script = f"{code}.findAll({quoted(_SHELL_WORD)}).map(t, {token}).join('').split({quoted(_NEW_COMMAND)})"
    whole = f"[w.map(x, {quoted(_NEW_WORD)} + x).join('')]"
    return bind_variable(
        _script(), "f", f"f.size() == 0 ? {whole} : f.map(s, {of_script}).flatten()"
    )


def _unwrapped() -> str:
    """The words of a command after assignments, flags and wrapper programs."""
    assignment = signals.ASSIGNMENT.pattern
    dropped = (
        f"x.startsWith('-') || {_base('x')} in {listed(sorted(signals.WRAPPERS))}"
        f" || x.matches({_pattern(assignment)})"
    )
    rest = f"a.transformList(i, x, !({dropped}), i)"
    words = f"c.substring(1).split({quoted(_NEW_WORD)})"
    return bind_variable(
        words, "a", bind_variable(rest, "r", "r.size() == 0 ? [] : a.slice(r[0], a.size())")
    )


def _is_evidence(command: str) -> str:
    return f"{command}.size() > 0 && !({_base(f'{command}[0]')} in {listed(sorted(signals.IDLE))})"


def _programs() -> str:
    """Base names of possible programs of the command `c`, up to its first script."""
    launched = f"{_base('c[0]')} in {listed(sorted(signals.MPI_LAUNCHERS))}"
    scripts = f"c.transformList(i, x, x.matches({_pattern(signals.SCRIPT.pattern)}), i)"
    value = "i > 0 && c[i - 1].startsWith('--') && !c[i - 1].contains('=') && !m"
    inner = (
        f"c.transformList(i, x, (s.size() == 0 || i <= s[0]) && x != '' && !x.startsWith('-')"
        f" && !({value}), {_base('x')})"
    )
    return bind_variable(launched, "m", bind_variable(scripts, "s", inner))


def _subjects() -> str:
    """The relevant words of the command `c`: its program, its script or module, and the next word."""
    runs = f"c[i - 1] == '-m' || x.matches({_pattern(signals.SCRIPT.pattern)})"
    after = f"c.transformList(i, x, i > 0 && ({runs}), i)"
    at = "a.size() == 0 ? [1] : a[0] == 1 ? [1, 2] : [1, a[0], a[0] + 1]"
    words = f"({at}).filter(i, i < c.size() && !c[i].startsWith('-')).map(i, {_base('c[i]')})"
    program = _base("c[0]")
    python = f"{program}.matches({_pattern(signals.PYTHON.pattern)})"
    return bind_variable(after, "a", f"({python} ? [] : [{program}]) + {words}")


def _of_command() -> str:
    launchers = listed(sorted(signals.MPI_LAUNCHERS))
    launcher = (
        f"(p.size() > 0 && p[0] in {launchers}"
        f" ? [[{quoted(JobClass.HPC)}, '{classify.MPI}', 'program ' + p[0]]] : [])"
    )
    batch = quoted(JobClass.BATCH)
    ends = f"p.filter(x, x in variables.programs && variables.programs[x] == {batch})"
    known = "(e.size() > 0 ? e : p.filter(x, x in variables.programs))"
    program = f"{known}.transformList(i, x, i == 0, [variables.programs[x], '{classify.PROGRAM}', 'program ' + x])"
    words = f"{_subjects()}.map(t, {_words('t')}).flatten()"
    script = f"(e.size() > 0 ? [] : {_matches(words, 'words', classify.SCRIPT, quoted('command'))})"
    return bind_variable(
        _programs(), "p", bind_variable(ends, "e", f"{launcher} + {program} + {script}")
    )


_NAMED = (*classify.COMPONENT_LABELS, *classify.NAME_LABELS)


def _labels_named(key: str) -> str:
    """The values of a label at all levels of the workload, the outermost first."""
    return f"variables.labels.filter(l, {quoted(key)} in l).map(l, l[{quoted(key)}])"


def _for_first(values: str, then: str) -> str:
    """An expression for the first value `t`; [] without one."""
    return f"{values}.transformList(i, t, i == 0, {then}).flatten(1)"


def _runtime() -> str:
    return optional("variables.it", "spec.runtimeRef.name", quoted(""))


def _names() -> str:
    """All words by which a workload is named."""
    of_labels = " + ".join(_for_first(_labels_named(key), "[t]") for key in _NAMED)
    return f"([variables.name, {_runtime()}] + {of_labels}).map(t, {_words('t')}).flatten()"


def _readable() -> str:
    """Whether texts are short, and shells split scripts as this policy does."""
    plain = (
        f"s.size() < {_LONGEST} && s.matches({quoted(_CLOSED)})"
        " && !(s.contains('\"') && s.contains(\"'\")) && !s.replace('\\\\\\n', ' ').contains('\\\\')"
    )
    return (
        f"variables.texts.all(w, w.size() <= {_MOST_WORDS} && w.all(t, t.size() < {_LONGEST}))"
        f" && variables.scripts.all(f, f.all(s, {plain}))"
    )


def _evidence() -> str:
    """All evidence, each once: class, weight and source."""
    name = classify.NAME
    labels = {
        **dict.fromkeys(classify.COMPONENT_LABELS, classify.COMPONENT),
        **dict.fromkeys(classify.NAME_LABELS, name),
        names.QUEUE_LABEL: classify.QUEUE,
    }
    kinds = {kind: (c.value, str(weight)) for kind, (c, weight) in classify.KINDS.items()}
    of_kind = f"{{{', '.join(f'{quoted(k)}: {listed(v)}' for k, v in kinds.items())}}}"
    env = "c.?env.orValue([])"
    training = f"[{quoted(JobClass.TRAINING)}, '{name}', 'environment ' + e.name]"
    jupyter = f"[{quoted(JobClass.NOTEBOOK)}, '{name}', 'environment']"
    of_container: Iterable[str] = (
        _matches(_image_words(optional("c", "image", "''")), "images", classify.IMAGE, "'image'"),
        _matches(_words(optional("c", "name", "''")), "words", name, "'container'"),
        f"{env}.filter(e, e.name in {listed(sorted(classify.TRAINING_ENV))}).map(e, {training})",
        f"{env}.filter(e, e.name.startsWith('JUPYTER_')).map(e, {jupyter})",
    )
    parts = (
        f"variables.kind in {of_kind} ? [{of_kind}[variables.kind] + ['kind']] : []",
        f"variables.commands.map(c, {_of_command()}).flatten(1)",
        f"variables.containers.map(c, {' + '.join(of_container)}).flatten(1)",
        _matches(_words("variables.name"), "words", name, "'name'"),
        _matches(_words(_runtime()), "words", name, "'runtime'"),
        *(
            _for_first(_labels_named(key), _matches(_words("t"), "words", weight, quoted(key)))
            for key, weight in labels.items()
        ),
        f"variables.asks ? {_of_shape()} : []",
    )
    return f"({' + '.join(f'({part})' for part in parts)}).distinct()"


def _piece(holds: str, job_class: JobClass, weight: int, source: str) -> str:
    return f"({holds} ? [[{quoted(job_class)}, '{weight}', {quoted(source)}]] : [])"


def _of_shape() -> str:
    """Evidence of the shape of a workload with GPUs."""
    shape, kind = classify.SHAPE, "variables.kind"
    limit = f"c.?resources.?limits[?{quoted(names.GPU)}]"
    gpus = f"{limit}.hasValue() ? {quantity(f'{limit}.value()')}.asInteger() : 0"
    gang = f"variables.pods.exists(p, p.map(c, {gpus}).sum() >= {classify.GANG})"
    job = "variables.it.?spec"
    jobs = f"(variables.it.kind == 'CronJob' ? {job}.?jobTemplate.?spec : {job})"
    parallel = f"{jobs}.?parallelism.orValue(1)"
    done = f"{jobs}.?completions.orValue(0)"
    more = f"{done} > {parallel}"
    indexed = f"!({more}) && {jobs}.?completionMode.orValue('') == 'Indexed' && {parallel} > 1"
    counted = "variables.it.kind in ['Job', 'CronJob'] && !variables.it.apiVersion.startsWith('batch.volcano')"
    ends = f"{kind} in {listed(sorted(classify.ENDS))}"
    stops = f"{kind} == 'Pod' && variables.it.?spec.?restartPolicy.orValue('') in ['Never', 'OnFailure']"
    training, inference, batch = JobClass.TRAINING, JobClass.INFERENCE, JobClass.BATCH
    pieces = (
        _piece(f"{kind} in {listed(sorted(classify.STAYS))}", inference, 2 * shape, "long-running"),
        _piece("variables.listens", inference, shape, "port"),
        _piece("variables.probed", inference, 2 * shape, "probe"),
        _piece(stops, batch, shape, "not restarted"),
        _piece(f"{ends} && {gang}", training, 2 * shape, "gang"),
        _piece(f"{ends} && {counted} && {more}", batch, 2 * shape, "completions"),
        _piece(f"{ends} && {counted} && {indexed}", training, 2 * shape, "indexed"),
    )
    return " + ".join(pieces)


def _refined() -> str:
    """Finite inference is batch, interactive inference is real-time."""
    kind, waited = "variables.kind", classify.WAITED_FOR

    def word(words: Iterable[str]) -> str:
        return f"variables.names.exists(w, w in {listed(sorted(words))})"

    points: tuple[tuple[str, int], ...] = (
        ("variables.listens", 2),
        ("variables.probed", 2),
        (f"{kind} in {listed(sorted(classify.STAYS))}", 1),
        (word(signals.LATENCY_SENSITIVE_WORDS), waited),
        (word(signals.NOT_WAITING), -waited),
        (f"{kind} == 'InferenceService'", 2),
    )
    total = " + ".join(f"({holds} ? {number} : 0)" for holds, number in points)
    finite = f"{kind} in {listed(sorted(classify.ENDS))} && !variables.listens && !variables.probed"
    real_time, other = quoted(JobClass.REAL_TIME), quoted(JobClass.INFERENCE)
    return f"({finite} ? {quoted(JobClass.BATCH)} : {total} >= {waited} ? {real_time} : {other})"
