"""A case of a rule as files: a Pulumi preview and a state, YAML, a Terraform plan.

`NoTwinError` has the reason if a front end cannot express a case; a case has the same text in `not_as`, by
front end, or a file has it for all its cases. Nothing is skipped silently.
"""

import json
import re

import yaml

from gpuyard_lint.languages.terraform_files import CLOUD_DEFAULTED_FIELDS, CLUSTER_ATTRIBUTES
from gpuyard_lint.pulumi import pulumi_resource
from gpuyard_lint.terraform import KINDS, PLURAL

_BY_KIND = {kind: name for name, kind in KINDS.items()}
_SINGULAR = {many: one for one, many in PLURAL.items()}
_USERS = {"labels", "tags", "nodeLabels", "resourceLabels", "metadata"}
"""Keys below these are chosen by users."""


class NoTwinError(Exception):
    """The resource cannot be written for this front end, and why."""


def is_kubernetes(raw):
    return "apiVersion" in raw


def is_values(raw):
    return "values" in raw and "chart" in raw


# ── Pulumi ──


def _token(raw):
    if is_values(raw):
        return "kubernetes:helm.sh/v3:Release"
    if not is_kubernetes(raw):
        return raw["type"]
    api = raw["apiVersion"] if "/" in raw["apiVersion"] else f"core/{raw['apiVersion']}"
    return f"kubernetes:{api}:{raw['kind']}"


def _state(raw):
    if is_values(raw):
        name, inputs = "r", {"chart": raw["chart"], "version": "v26.7.0", "values": raw["values"]}
    elif is_kubernetes(raw):
        name, inputs = raw["metadata"]["name"], raw
    else:
        name, inputs = raw["name"], raw["properties"]
    urn = f"urn:pulumi:dev::x::{_token(raw)}::{name}"
    return {"type": _token(raw), "urn": urn, "inputs": inputs, "protect": raw.get("protect", False)}


def preview(resources):
    return json.dumps(
        {"steps": [{"op": "create", "newState": _state(raw)} for raw in resources]}, indent=1
    )


def state(resources):
    results = [_state(raw) for raw in resources]
    return json.dumps({"version": 3, "deployment": {"resources": results}}, indent=1)


# ── YAML ──


def manifests(resources):
    return yaml.safe_dump_all([_document(raw) for raw in resources])


def _document(raw):
    if is_values(raw):
        return raw["values"]
    if not is_kubernetes(raw):
        whose = "Pulumi" if raw["type"].startswith("kubernetes:") else "a cloud"
        raise NoTwinError(f"a resource of {whose} is no manifest")
    return raw


# ── Terraform ──


def terraform(resources):
    results = [_planned(raw) for raw in resources]
    return json.dumps({"planned_values": {"root_module": {"resources": results}}}, indent=1)


def _planned(raw):
    if is_kubernetes(raw):
        return _resource("kubernetes_manifest", raw["metadata"]["name"], {"manifest": raw})
    if is_values(raw):
        values = {"chart": raw["chart"], "values": [yaml.safe_dump(raw["values"])]}
        return _resource("helm_release", "r", values)
    if "protect" in raw:
        raise NoTwinError("whether Terraform would delete it is not in its plan")
    kind = _BY_KIND.get(pulumi_resource(raw["type"], raw["name"], {}).kind)
    if kind is None:
        raise NoTwinError(f"Terraform has no type for {raw['type']}")
    return _resource(kind, raw["name"], _blocks(_named(raw["properties"])))


def _resource(kind, name, values):
    return {"type": kind, "address": f"{kind}.{name}", "values": values}


def _named(value, key=None):
    if isinstance(value, dict) and key not in _USERS:
        return {_snake(name): _named(each, name) for name, each in value.items()}
    if isinstance(value, list):
        return [_named(each) for each in value]
    return value


def _snake(name):
    return _SINGULAR.get(name) or re.sub(r"([A-Z])", lambda m: f"_{m[1].lower()}", name)


def _blocks(value):
    """Blocks that occur at most once are lists of one in a plan."""
    if isinstance(value, dict):
        return {
            key: [_blocks(each)]
            if isinstance(each, dict) and key not in {"labels", "tags"}
            else _blocks(each)
            for key, each in value.items()
        }
    return [_blocks(each) for each in value] if isinstance(value, list) else value


# ── Terraform's own files ──


def hcl(resources):
    """Nested blocks; JSON values in HCL syntax, which is nearly the same."""
    written = [_block(raw) for raw in resources]
    return "\n".join(["# for GPUs of Kubernetes", 'provider "aws" {}', *written]) + "\n"


def _block(raw):
    planned = _planned(raw)
    kind, _, name = planned["address"].partition(".")
    values = planned["values"]
    if is_values(raw):
        values = {"chart": raw["chart"]}
        lines = [f"  values = [yamlencode({_value(raw['values'])})]"]
    else:
        lines = [
            f"  {each} {{}}" for each in CLOUD_DEFAULTED_FIELDS.get(kind, ()) if each not in values
        ]
    if kind == "google_container_node_pool":
        of_cluster = {each: [{}] for each in CLUSTER_ATTRIBUTES}
        values = values | {
            "node_config": [of_cluster | each for each in values.get("node_config", [])]
        }
    return "\n".join([f'resource "{kind}" "{name}" {{', *_body(values, "  "), *lines, "}"])


def _body(values, indent):
    for name, value in values.items():
        blocks = isinstance(value, list) and value and all(isinstance(v, dict) for v in value)
        for each in value if blocks else ():
            yield from (f"{indent}{name} {{", *_body(each, indent + "  "), f"{indent}}}")
        if not blocks:
            yield f"{indent}{name} = {_value(value)}"


def _value(value):
    text = json.dumps(value, indent=2, ensure_ascii=False)
    return text.replace("${", "$${").replace("%{", "%%{")


FRONT_ENDS = {
    "preview": ("preview.json", preview),
    "state": ("state.json", state),
    "yaml": ("k.yaml", manifests),
    "terraform": ("plan.json", terraform),
    "hcl": ("main.tf", hcl),
}
"""By name: the file, and its writer."""
