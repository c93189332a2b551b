"""The CEL twin for other objects of members than pods, as a policy without pod variables.

It includes evictions: an evicted pod may not get a longer grace period than allowed (GPU-ADM-08).

Requests of users who can get the same in another way are allowed: a user who may create volumes may
name one, and a user who may request service account tokens may keep one. So controllers and admins
keep working.
"""

from collections.abc import Iterator

from gpuyard.render.admission.cel import listed, message_expression, optional, quoted
from gpuyard.render.admission.pod_expressions import BY_CONTROLLER, longest_grace
from gpuyard_core.admission import owned_objects, priority_and_termination
from gpuyard_core.admission.host import BY_NAME
from gpuyard_core.admission.requirements import BELONGINGS, TURNS

RULES = (
    ("", "v1", ("persistentvolumeclaims", "pods/eviction", "secrets", "services")),
    ("apps", "v1", ("statefulsets",)),
)
"""Group, version and resources that the policy matches."""


MAY = (
    "variables.it.kind == 'Secret'"
    " ? authorizer.group('').resource('serviceaccounts').subresource('token')"
    ".namespace(request.namespace).check('create').allowed()"
    " : variables.it.kind != 'Service'"
    " && authorizer.group('').resource('persistentvolumes').check('create').allowed()"
)
"""Users that the policy exempts. It is a separate term: a message expression cannot use
`authorizer`."""


def variables() -> Iterator[tuple[str, str]]:
    """The variables of the policy, including all messages."""
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
    # the volume name may also be added to a claim that is pending
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
    """An eviction deletes a pod, with delete options (docs/concepts/tenancy.md: how pods go)."""
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
