"""CEL for the pods of an object, at the paths of its kind."""

from gpuyard.render.admission.cel import literal, message_expression, optional, quoted
from gpuyard_core.admission import queued, requirements
from gpuyard_core.admission.requirement import violation_templates
from gpuyard_core.findings import Path
from gpuyard_core.manifests.queued import ROLES
from gpuyard_core.manifests.templates import EACH, KINDS, PodsForm


def pods_of_kinds(value: str) -> str:
    """The cases of the kinds whose pods are not at `spec.template`."""
    return "".join(
        f" : {value}.kind == {quoted(name.rpartition('/')[2])} ? {_templates(value, name)}"
        for name in ("batch/CronJob", *queued.OF_OTHER_PROJECTS)
    )


def _templates(value: str, kind: str) -> str:
    """The templates of a kind; every part of a path may be missing."""
    places = [place.at for place in KINDS[kind].places if place.form is PodsForm.TEMPLATE]
    results: list[str] = []
    for at in places:
        if EACH not in at:
            results.append(_template(value, at))
            continue
        before, after = at[: at.index(EACH)], at[at.index(EACH) + 1 :]
        # in a fixed order: CEL's order of map keys changes between evaluations
        if roles := ROLES.get(kind.rpartition("/")[2]):
            results += [_template(value, (*before, role, *after)) for role in roles]
        else:
            each = optional(value, ".".join(map(str, before)), "[]")
            results.append(
                f"{each}.filter(j, {_is_there('j', after)}).map(j, {_below('j', after)})"
            )
    return f"({' + '.join(results) or '[]'})"


def _template(value: str, at: Path) -> str:
    return f"({_is_there(value, at)} ? [{_below(value, at)}] : [])"


def _is_there(value: str, at: Path) -> str:
    return f"{value}.?{'.?'.join(map(str, at))}.hasValue()"


def _below(value: str, at: Path) -> str:
    return f"{value}.{'.'.join(map(str, at))}"


def pods_per_role(value: str) -> str:
    """The cases of the kinds with replicas by role: the pods of each template, in the same order."""
    text = ""
    for kind, field in {"MPIJob": "mpiReplicaSpecs", **queued.ROLE_FIELDS}.items():
        roles = " + ".join(
            f"({value}.?spec.?{field}.?{role}.?template.hasValue()"
            f" ? [{optional(value, f'spec.{field}.{role}.replicas', '1')}] : [])"
            for role in ROLES[kind]
        )
        text += f"{value}.kind == {quoted(kind)} ? {roles} : "
    return text


def unknown_roles() -> str:
    """Messages about roles of replicas that Kueue does not count."""
    text = ""
    for kind, field in queued.ROLE_FIELDS.items():
        values = {"role": "r", "kind": quoted(kind), "roles": quoted(", ".join(ROLES[kind]))}
        sentence = message_expression(
            requirements.QUEUED, violation_templates()["queued.UNCOUNTED"], **values
        )
        roles = f"{optional('variables.it', f'spec.{field}', '{}')}.filter(r, !(r in {literal(ROLES[kind])}))"
        text += f"variables.it.kind == {quoted(kind)} ? {roles}.map(r, {sentence}) : "
    return f"{text}[]"
