"""The grammar of IAM policies, as strict as the service: errors of a document."""

import re

from gpuyard.render.permissions.policies import size_of

_ACTION = re.compile(r"[a-z0-9-]+:[A-Z][A-Za-z0-9]+")
_ARN = re.compile(r"arn:(aws|aws-cn|aws-us-gov|\*):[a-z0-9-]+:[a-z0-9-]*\*?:(\d{12}|aws|\*)?:\S+")
_KEY = re.compile(r"[a-z0-9]+:[A-Za-z]+(/[\w.:/=+@-]{1,128})?")
_OPERATORS = {"StringEquals", "StringLike", "ArnLike"}
_PERMISSION = re.compile(r"[a-z]+(\.[a-zA-Z]+){2}")


def wrong_with(policy):
    """Every violation of the grammar, and every wildcard where none is allowed."""
    results = []
    if list(policy) != ["Version", "Statement"] or policy["Version"] != "2012-10-17":
        results.append(f"not a policy: {list(policy)}")
    sids = [each.get("Sid") for each in policy["Statement"]]
    if len(set(sids)) != len(sids):
        results.append(f"a Sid twice: {sids}")
    for each in policy["Statement"]:
        results += [f"{each.get('Sid')}: {message}" for message in _wrong(each)]
    if (size := size_of(policy)) > 6144:
        results.append(f"{size} characters")
    return results


def _wrong(each):
    if extra := set(each) - {"Sid", "Effect", "Action", "Resource", "Condition"}:
        yield f"unknown {extra}"
    if not re.fullmatch(r"[A-Za-z0-9]+", each["Sid"]):
        yield "a Sid is of letters and digits"
    if each["Effect"] != "Allow":
        yield each["Effect"]
    yield from (f"action {a}" for a in each["Action"] if not _ACTION.fullmatch(a))
    if len(set(each["Action"])) != len(each["Action"]) or not each["Action"]:
        yield "an action twice, or none"
    resources = _listed(each["Resource"])
    yield from (f"resource {r}" for r in resources if r != "*" and not _ARN.fullmatch(r))
    if "*" in resources and len(resources) > 1:
        yield "* beside others"
    yield from _wrong_conditions(each.get("Condition", {}))


def _wrong_conditions(conditions):
    yield from (f"operator {each}" for each in set(conditions) - _OPERATORS)
    for key, values in ((k, v) for keys in conditions.values() for k, v in keys.items()):
        if not _KEY.fullmatch(key):
            yield f"key {key}"
        if not _listed(values) or not all(isinstance(v, str) and v for v in _listed(values)):
            yield f"values of {key}"


def _listed(values):
    return values if isinstance(values, list) else [values]


def wrong_with_role(definition):
    """Errors for which `gcloud iam roles create` would reject it."""
    if set(definition) != {"title", "description", "stage", "includedPermissions"}:
        return [f"fields {sorted(definition)}"]
    return [each for each in definition["includedPermissions"] if not _PERMISSION.fullmatch(each)]
