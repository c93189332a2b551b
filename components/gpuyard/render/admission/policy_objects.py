"""Admission policies and their bindings, and the policy of an account: RBAC has no fields."""

from collections.abc import Iterable, Mapping

from gpuyard.render.admission.cel import literal, optional, quoted
from gpuyard.render.objects import Object, managed_object, namespaces_with

_API = "admissionregistration.k8s.io/v1"


def resource_rule(
    group: str, version: str, resources: Iterable[str], operations: Iterable[str] = ("CREATE",)
) -> Object:
    """What a policy matches."""
    return {
        "apiGroups": [group],
        "apiVersions": [version],
        "operations": list(operations),
        "resources": list(resources),
    }


def policy_with_binding(
    owner: str, kind: str, name: str, spec: Object, binding: Object
) -> list[Object]:
    """A policy that is `Validating` or `Mutating`, and its binding."""
    api, bound = f"{kind}AdmissionPolicy", {"policyName": name, **binding}
    return [
        managed_object(owner, _API, api, name, spec=spec),
        managed_object(owner, _API, f"{api}Binding", name, spec=bound),
    ]


def mutating_policy(
    owner: str,
    name: str,
    label: str,
    rules: list[Object],
    conditions: Mapping[str, str],
    mutations: list[Object],
    **more: object,
) -> list[Object]:
    """A policy for new objects in the platform's namespaces with a label, and its binding."""
    spec = {
        "failurePolicy": "Fail",
        "reinvocationPolicy": "Never",
        "matchConstraints": {"resourceRules": rules},
        "matchConditions": [{"name": key, "expression": text} for key, text in conditions.items()],
        **more,
        "mutations": mutations,
    }
    selected = {"matchResources": {"namespaceSelector": namespaces_with(owner, label)}}
    return policy_with_binding(owner, "Mutating", name, spec, selected)


def json_patch(expression: str) -> Object:
    """A mutation by a JSON patch."""
    return {"patchType": "JSONPatch", "jsonPatch": {"expression": expression}}


def account_policy(
    owner: str,
    name: str,
    namespace: str,
    of: tuple[str, str, str],
    holds: Mapping[str, str],
    account: str = "",
) -> list[Object]:
    """The policy of an account, by default of its name. `of`: API group, version and resource.

    `holds` maps what an update must not change to the expression that is true if it is unchanged.
    """
    group, version, resource = of
    who = f"request.userInfo.username == {quoted(f'system:serviceaccount:{namespace}:{account or name}')}"
    spec = {
        "failurePolicy": "Fail",
        "matchConstraints": {
            "resourceRules": [resource_rule(group, version, [resource], ["UPDATE"])]
        },
        "matchConditions": [{"name": "this-account", "expression": who}],
        "validations": [
            {
                "expression": text,
                "message": f"{account or name} must not change other {what} of {resource}",
            }
            for what, text in holds.items()
        ],
    }
    return policy_with_binding(owner, "Validating", name, spec, {"validationActions": ["Deny"]})


def other_metadata_unchanged_expressions(
    *, labels: Iterable[str], annotations: Iterable[str]
) -> dict[str, str]:
    """Expressions: an update changes no other metadata than these labels and annotations."""

    def kept(part: str, ours: str) -> str:
        now, was = (optional(each, f"metadata.{part}", "{}") for each in ("object", "oldObject"))
        return (
            f"{now}.all(k, k in {ours} || (k in {was} && {was}[k] == {now}[k]))"
            f" && {was}.all(k, k in {ours} || k in {now})"
        )

    return {
        "labels": kept("labels", literal(labels)),
        "annotations": kept("annotations", literal(annotations)),
        "finalizers": unchanged_expression("metadata.finalizers", "[]"),
        "owners": unchanged_expression("metadata.ownerReferences", "[]", ".map(o, o.uid)"),
    }


def unchanged_expression(path: str, default: str, values: str = "") -> str:
    """Expression: an update does not change a field, or these values of it."""
    return " == ".join(
        f"{optional(each, path, default)}{values}" for each in ("object", "oldObject")
    )


def other_spec_unchanged_expression(field: str) -> str:
    """Expression: an update changes no other field of the spec than this one."""
    new, old = "dyn(object.spec)", "dyn(oldObject.spec)"
    return (
        f"{new}.all(k, k == {quoted(field)} || k in {old} && {old}[k] == {new}[k])"
        f" && {old}.all(k, k == {quoted(field)} || k in {new})"
    )
