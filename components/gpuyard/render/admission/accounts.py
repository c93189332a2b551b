"""Policies for the fields that a service account of gpuyard may patch: RBAC has no fields."""

from collections.abc import Mapping

from gpuyard.render.admission.cel import quoted
from gpuyard.render.objects import Object, managed_object

_API = "admissionregistration.k8s.io/v1"


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
    rule = {
        "apiGroups": [group],
        "apiVersions": [version],
        "operations": ["UPDATE"],
        "resources": [resource],
    }
    spec = {
        "failurePolicy": "Fail",
        "matchConstraints": {"resourceRules": [rule]},
        "matchConditions": [{"name": "this-account", "expression": who}],
        "validations": [
            {
                "expression": text,
                "message": f"{account or name} must not change other {what} of {resource}",
            }
            for what, text in holds.items()
        ],
    }
    bound = {"policyName": name, "validationActions": ["Deny"]}
    return [
        managed_object(owner, _API, "ValidatingAdmissionPolicy", name, spec=spec),
        managed_object(owner, _API, "ValidatingAdmissionPolicyBinding", name, spec=bound),
    ]
