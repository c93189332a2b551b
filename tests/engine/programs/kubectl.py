"""`kubectl get`, as far as `gpuyard.resources.diagnosis.kubectl` asks, for machines that have no kubectl."""

import json
import sys
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT))

from testbed.plugins.kubernetes.cluster import Cluster  # noqa: E402 - the path is set just above


def main(arguments):
    """Print the object, or the list of objects, that is asked for; anything unexpected is an error."""
    config, _, verb, *rest = arguments
    rest = [one for one in rest if one != "--show-managed-fields"]
    *rest, _, form = rest
    assert (verb, form in {"json", "name"}) == ("get", True), arguments
    wanted = labels(rest)
    file = config.removeprefix("--kubeconfig=")
    cluster = Cluster.connect(yaml.safe_load(Path(file).read_text()), None)
    namespace = rest[rest.index("-n") + 1] if "-n" in rest else None
    names = rest[: rest.index("-n")] if "-n" in rest else rest[: 1 if wanted else None]
    if len(names) == 2:
        found = cluster.request("GET", f"{place(cluster, names[0], namespace)}/{names[1]}")
    else:
        all_found = [o for kind in names[0].split(",") for o in listed(cluster, kind, namespace)]
        found = {"items": [one for one in all_found if has(one, wanted)]}
    if form == "name":
        lines = [f"{one['kind'].lower()}/{one['metadata']['name']}\n" for one in found["items"]]
        sys.stdout.write("".join(lines))
    else:
        sys.stdout.write(json.dumps(found))


def labels(arguments):
    """What a selector asks for: `a=b` that value, `a` any."""
    if "-l" not in arguments:
        return {}
    parts = arguments[arguments.index("-l") + 1].split(",")
    return {name: value for name, _, value in (part.partition("=") for part in parts)}


def has(obj, wanted):
    found = obj["metadata"].get("labels", {})
    return all(name in found and value in {"", found[name]} for name, value in wanted.items())


def served(cluster, kind):
    """The path of the API that serves a kind, and how it does."""
    name, _, group = kind.partition(".")
    root = "/api/v1"
    if group:
        root = (
            f"/apis/{cluster.request('GET', f'/apis/{group}')['preferredVersion']['groupVersion']}"
        )
    (one,) = [
        r
        for r in cluster.request("GET", root)["resources"]
        if name in {r["name"], r["singularName"], r["kind"].lower()} and "/" not in r["name"]
    ]
    return root, one


def place(cluster, kind, namespace):
    root, one = served(cluster, kind)
    return (
        f"{root}/namespaces/{namespace}/{one['name']}"
        if one["namespaced"]
        else f"{root}/{one['name']}"
    )


def listed(cluster, kind, namespace):
    _, one = served(cluster, kind)
    items = cluster.request("GET", place(cluster, kind, namespace))["items"]
    return [{**item, "kind": one["kind"]} for item in items]


if __name__ == "__main__":
    main(sys.argv[1:])
