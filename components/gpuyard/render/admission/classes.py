"""The policy that labels workloads with GPUs by class, as `gpuyard classify` decides (decision 99).

policies/classes.yaml has its CEL; here are the tables of `gpuyard.job_classes` and the places of pods.
"""

from collections.abc import Callable, Mapping
from functools import cache

from gpuyard.job_classes import signals, weights
from gpuyard.job_classes.signals import JobClass
from gpuyard.plan.records import PlatformPlan
from gpuyard.render.admission.cel import PolicyText, literal, optional, quoted
from gpuyard.render.admission.policy_objects import json_patch, mutating_policy, resource_rule
from gpuyard.render.objects import Object
from gpuyard.spec.sections import Admission
from gpuyard_core import names
from gpuyard_core.catalogue.kubernetes.api import changes_jobs
from gpuyard_core.findings import Path
from gpuyard_core.manifests.queued import QUEUED_KINDS
from gpuyard_core.manifests.templates import EACH, KINDS, PodsForm

LEAST_POINTS = 5
"""Minimum points of a class that the policy sets: its kind, its program, or several weaker pieces."""
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
_NAME_LABELS = (*weights.COMPONENT_LABELS, *weights.NAME_LABELS)


def class_objects(plan: PlatformPlan) -> list[Object]:
    """The policy and its binding; none if it is off, without teams or support of the API server."""
    wanted = (plan.spec.admission or Admission()).set_classes
    if wanted is False or not plan.teams or not changes_jobs(plan.kubernetes):
        return []
    text = _text()
    rules = [resource_rule(group, "*", kinds) for group, kinds in _plurals().items()]
    return mutating_policy(
        plan.name,
        names.classes_policy_name(plan.name),
        names.TEAM_LABEL,
        rules,
        {"on-its-own": text.expression("on_its_own")},
        [json_patch(text.expression("patches"))],
        failurePolicy="Ignore",
        variables=[{"name": key, "expression": each} for key, each in text.variables()],
    )


@cache
def _text() -> PolicyText:
    natives: Mapping[str, Callable[..., str]] = {
        "templates": _templates,
        "table": lambda name: _map(
            {word: found.value for word, found in sorted(getattr(signals, name).items())}
        ),
        "kinds": lambda: _map(
            {kind: (c.value, str(weight)) for kind, (c, weight) in weights.KINDS.items()}
        ),
        "pattern": lambda name: quoted(f"^(?s:{getattr(signals, name).pattern})$"),
    }
    constants = {
        "weights": weights,
        "signals": signals,
        # in the order that decides between equal points
        "classes": [each for each in JobClass if each not in (JobClass.REAL_TIME, JobClass.OTHER)],
        "least_points": LEAST_POINTS,
        "twice_shape": 2 * weights.SHAPE,
        "marks": _MARKS,
        "unseen": _UNSEEN,
        "separators": signals.SEPARATORS - {"\n"},
        "name_labels": _NAME_LABELS,
        "labels": {
            **dict.fromkeys(weights.COMPONENT_LABELS, weights.COMPONENT),
            **dict.fromkeys(weights.NAME_LABELS, weights.NAME),
            names.QUEUE_LABEL: weights.QUEUE,
        },
    }
    return PolicyText("classes", natives, constants)


def _map(table: Mapping[str, object]) -> str:
    return f"{{{', '.join(f'{quoted(key)}: {literal(value)}' for key, value in table.items())}}}"


def _plurals() -> dict[str, list[str]]:
    results: dict[str, list[str]] = {}
    for kind in sorted(_KINDS):
        group, _, name = kind.rpartition("/")
        known = QUEUED_KINDS.get(kind)
        results.setdefault(group, []).append(known.plural if known else f"{name.lower()}s")
    return results


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
