"""The CEL twin of what members make beside pods, as a policy of its own: it has no pods to look at.

An eviction is among them: a pod that is put out may not be given longer than it may have (GPU-ADM-08).

Who could have the same in another way is not refused: whoever may make volumes may name one, and whoever may
ask for tokens of service accounts may keep one. So the cluster's controllers and its admins go on working.
"""

from collections.abc import Iterator

from gpuyard.admission import owned_objects, priority_and_termination
from gpuyard.admission.requirements import BELONGINGS, TURNS
from gpuyard.admission.volumes import BY_NAME
from gpuyard.render.admission.cel import listed, message_expression, optional, quoted
from gpuyard.render.admission.pod_expressions import BY_CONTROLLER, longest_grace

RULES = (
    ("", "v1", ("persistentvolumeclaims", "pods/eviction", "secrets", "services")),
    ("apps", "v1", ("statefulsets",)),
)
"""Group, version and resources that are looked at."""


MAY = (
    "variables.it.kind == 'Secret'"
    " ? authorizer.group('').resource('serviceaccounts').subresource('token')"
    ".namespace(request.namespace).check('create').allowed()"
    " : variables.it.kind != 'Service'"
    " && authorizer.group('').resource('persistentvolumes').check('create').allowed()"
)
"""Who is not refused. It stands beside what is said: a message may not ask what somebody may do."""


def variables() -> Iterator[tuple[str, str]]:
    """What is looked at, and all that is said."""
    yield "it", "dyn(object)"
    yield "was", "dyn(oldObject)"
    yield "created", "request.operation == 'CREATE'"
    yield "by_controller", BY_CONTROLLER
    text = f"{_service()} + {_secret()} + {_claim()} + {_claims_of_set()} + {_eviction()}"
    yield "said", f"({text}).join('. ')"


def _service() -> str:
    addresses = optional("variables.it", "spec.externalIPs", "[]")
    before = optional("variables.was", "spec.externalIPs", "[]")
    new = f"(variables.created || {addresses} != {before})"
    sentence = message_expression(BELONGINGS, owned_objects.EXTERNAL, address="a")
    return _of("Service", f"{new} ? {addresses}.map(a, {sentence}) : []")


def _secret() -> str:
    lasting = (
        f"{optional('variables.it', 'type', quoted(''))} == {quoted(owned_objects.TOKEN_TYPE)}"
    )
    sentence = message_expression(BELONGINGS, owned_objects.TOKEN)
    return _of(
        "Secret",
        f"variables.created && {lasting} ? [{sentence}] : []",
    )


def _claim() -> str:
    volume = optional("variables.it", "spec.volumeName", quoted(""))
    before = optional("variables.was", "spec.volumeName", quoted(""))
    # it may be written into a claim that waits, as well
    new = f"{volume} != '' && (variables.created || {before} == '')"
    sentence = _by_name("variables.it.metadata.name", volume)
    return _of("PersistentVolumeClaim", f"{new} ? [{sentence}] : []")


def _claims_of_set() -> str:
    templates = optional("variables.it", "spec.volumeClaimTemplates", "[]")
    volume = optional("t", "spec.volumeName", quoted(""))
    sentence = _by_name("t.metadata.name", volume)
    return _of(
        "StatefulSet",
        f"variables.created ? {templates}.filter(t, {volume} != '').map(t, {sentence}) : []",
    )


def _eviction() -> str:
    """It deletes a pod, with options of its own (docs/concepts/tenancy.md: how pods go)."""
    seconds = optional("variables.it", "deleteOptions.gracePeriodSeconds", "1")
    long = message_expression(
        TURNS,
        priority_and_termination.STAYS_ON,
        seconds=f"string({seconds})",
        longest=f"string({longest_grace()})",
    )
    return _of(
        "Eviction",
        f"variables.by_controller ? [] : {seconds} > {longest_grace()} ? [{long}]"
        f" : {seconds} == 0 ? [{message_expression(TURNS, priority_and_termination.GOES_FIRST)}] : []",
    )


def _by_name(name: str, volume: str) -> str:
    return message_expression(
        BELONGINGS, BY_NAME, what=quoted(owned_objects.CLAIM), name=name, volume=volume
    )


def _of(kind: str, expression: str) -> str:
    return f"(variables.it.kind in {listed([kind])} ? ({expression}) : [])"
