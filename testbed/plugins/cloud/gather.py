"""Generates `facts/` from the tables in `$GPUYARD_UPSTREAM/schema`: types, limits and flags; no prose.

python -m testbed.plugins.cloud.gather $GPUYARD_UPSTREAM/schema
"""

import json
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

INTO = Path(__file__).parent / "facts"
CLOUDS = ("aws", "gcp")

_LIMITS = (
    *("enum", "ignoreCase", "min", "max", "exclusiveMin", "multipleOf", "minLength", "maxLength"),
    *("minItems", "maxItems", "pattern", "notPattern", "format", "maskMin", "maskMax", "maskIn"),
    *("orEmpty", "nonZero", "apiEnum"),
)
_FLAGS = (
    *("type", "replace", "required", "computed", "set", "default", "secret", "writeOnly"),
    *("deprecated", "conflicts", "exactlyOneOf", "atLeastOneOf", "requiredWith"),
)
# A condition that a table describes in prose is a word here, and a function of `limits.py` or `same.py`.
_VALIDATIONS = {
    r"-1 or 100": "off-or-100-to-200",
    r"inside 10\.": "private-range",
    r"no query": "no-query",
    r"begins and ends with /": "slashed",
    r"the role's name": "not-an-arn",
    r"not a directory bucket": "no-directory-bucket",
    r"private ASN": "private-asn",
    r"at least 86400s": "a-day-at-least",
    r"holds a dot": "domain",
    r"no key starts with AWS": "no-key-of-aws",
    r"projects/PROJECT": "service-account",
}
_SUPPRESSIONS = {
    r"equivalent JSON|PolicyDiffs|DeliveryPolicy": "json",
    r"CaseInsensitive|CaseDiff": "case",
    r"SelfLink|CompareResourceName|CompareProjectName|KeyRingsEquivalent|KeyARNOrID": "last-part",
    r"StorageBucketDiff": "last-part",
    r"OpenIDURL": "scheme",
    r"CIDRBlockDiffs|^IpDiff": "address",
    r"MissingOptionalConfigurationBlock|preRegisteredFleet|CfgSuppress": "absent",
    r"ContainerClusterPrivateClusterConfig|containerClusterNetworkPolicy": "absent",
    r"nullable|DurationDiff": "number",
}


def table(upstream: Mapping[str, Any]) -> dict[str, Any]:
    """The facts of one cloud."""
    resources = {kind: _resource(facts) for kind, facts in sorted(upstream["resources"].items())}
    functions = {
        token: {
            "inputs": {name: _facts(facts) for name, facts in sorted(each["inputs"].items())},
            "outputs": {name: facts["type"] for name, facts in sorted(each["outputs"].items())},
        }
        for token, each in sorted(upstream["functions"].items())
    }
    return {"sdk": upstream["_meta"]["sdk"], "resources": resources, "functions": functions}


def _resource(upstream: Mapping[str, Any]) -> dict[str, Any]:
    created: dict[str, Any] = {}
    if upstream["autoname"]:
        named = upstream["autoname"]
        created["autoname"] = {
            key: named[key] for key in ("property", "maxLength", "separator", "randomHex")
        }
        created["autoname"]["lower"] = "lower" in named.get("transform", "")
    if upstream.get("deleteBeforeReplace"):
        created["deleteBeforeReplace"] = True
    outputs = upstream["outputs"]
    created["outputs"] = {name: outputs[name]["type"] for name in sorted(outputs)}
    created["secretOutputs"] = sorted(name for name in outputs if outputs[name].get("secret"))
    created["inputs"] = {path: _facts(facts) for path, facts in sorted(upstream["inputs"].items())}
    return created


def _facts(upstream: Mapping[str, Any]) -> dict[str, Any]:
    created = {key: upstream[key] for key in (*_FLAGS, *_LIMITS) if _says(upstream, key)}
    if r"\p{" in created.get("pattern", ""):
        del created["pattern"]  # a character class that Python lacks
    if items := _facts(upstream["items"]) if "items" in upstream else {}:
        created["items"] = items
    if "ref" in upstream:
        created["open"] = True
    for key, source, words in (
        ("check", "validate", _VALIDATIONS),
        ("same", "diffSuppress", _SUPPRESSIONS),
    ):
        if word := _word(str(upstream.get(source, "")), words):
            created[key] = word
    return created


def _says(upstream: Mapping[str, Any], key: str) -> bool:
    return key in upstream and (upstream[key] is not False or key == "default")


def _word(text: str, words: Mapping[str, str]) -> str:
    if default := re.search(r'EmptyOrDefaultStringSuppress\("(.*)"\)', text):
        return f"empty-or:{default[1]}"
    return next((word for pattern, word in words.items() if re.search(pattern, text)), "")


def text(facts: Mapping[str, Any]) -> str:
    """The text of the table: one field per line, for readable diffs."""
    return _block(facts, 4) + "\n"


def _block(value: Any, levels: int) -> str:
    if levels == 0 or not isinstance(value, Mapping) or not value:
        return json.dumps(value)
    lines = (f"{json.dumps(key)}: {_block(each, levels - 1)}" for key, each in value.items())
    return "{\n" + ",\n".join(lines) + "\n}"


def main(folder: Path) -> None:
    """Write the tables of both clouds."""
    for cloud in CLOUDS:
        upstream = json.loads((folder / f"{cloud}.json").read_text())
        (INTO / f"{cloud}.json").write_text(text(table(upstream)))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
