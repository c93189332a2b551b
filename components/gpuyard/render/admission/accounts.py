"""What an account of ours may change of objects that it may patch, as a policy: roles know no fields."""

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
    """The policy of an account, which has its name by default. `of`: API group, version and resource.

    `holds` are expressions of which each must be true of an update, by what it keeps as it is.
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
                "message": f"{account or name} does not change other {what} of {resource}",
            }
            for what, text in holds.items()
        ],
    }
    bound = {"policyName": name, "validationActions": ["Deny"]}
    return [
        managed_object(owner, _API, "ValidatingAdmissionPolicy", name, spec=spec),
        managed_object(owner, _API, "ValidatingAdmissionPolicyBinding", name, spec=bound),
    ]
