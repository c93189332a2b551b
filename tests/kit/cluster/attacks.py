"""Cases of the admission tests: who does what, the result, and why. They are data, in YAML."""

import copy
from pathlib import Path
from typing import Any

import yaml

from kit.stacks import Raw, cut_pool, platform, pool, team

Value = dict[str, Any]
FOLDER = Path(__file__).parents[2] / "cluster" / "admission" / "attacks"
CASES: list[Value] = [
    case
    for path in sorted(FOLDER.glob("*.yaml"))
    for case in yaml.load(path.read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)
]
TEAMS = {"makers": "atk-a", "viewers": "atk-a", "neighbours": "atk-b", "few": "atk-c"}
"""Namespaces of the requesters; admins use the first."""
_IRREGULAR = {
    "NetworkPolicy": "networkpolicies",
    "Ingress": "ingresses",
}


def three_teams(*, nodes: int = 1, guarantee: int = 4) -> Raw:
    """An attacking team, another team with its own pool, and one that may create almost nothing.

    `guarantee` is the first team's.
    """
    pools = [
        pool("atk-open", machine="p5.48xlarge", nodes=nodes),
        cut_pool("atk-cut"),
        pool("atk-vip", machine="g6.12xlarge", nodes=1, owners=["atk-b"]),
    ]
    teams = [
        team(
            "atk-a",
            guarantee={"atk-open": guarantee},
            borrow={"atk-open": 2},
            groups=["makers"],
            viewers=["viewers"],
        ),
        team(
            "atk-b",
            guarantee={"atk-open": 4, "atk-vip": 4},
            queues={"batch": 1.0},
            groups=["neighbours"],
        ),
        team(
            "atk-c",
            guarantee={"atk-cut/2g.10gb": 1},
            groups=["few"],
            limits={"objects": 1},  # the cluster creates one config map itself
        ),
    ]
    return platform(
        pools,
        teams,
        name="atk",
        cloud="simulated",
        kubernetes="1.36",
        priorities={"atk-first": 100},
    )


def namespace_of(case: Value) -> str:
    """The namespace of a request."""
    return TEAMS.get(case["who"], "atk-a")


def path_of(value: Value, namespace: str) -> str:
    """The path of objects of its kind."""
    version, kind = value["apiVersion"], value["kind"]
    root = f"/apis/{version}" if "/" in version else f"/api/{version}"
    plural = _IRREGULAR.get(kind, f"{kind.lower()}s")
    return f"{root}/namespaces/{namespace}/{plural}"


def object_of(case: Value) -> Value:
    """The sent object; `times` repeats the first container, `grown` repeats its annotations."""
    value = copy.deepcopy(case["object"])
    if grown := case.get("grown"):
        notes = value["metadata"]["annotations"]
        value["metadata"]["annotations"] = {key: each * grown for key, each in notes.items()}
    if times := case.get("times"):
        (first,) = value["spec"]["containers"]
        value["spec"]["containers"] = [{**first, "name": f"c{i}"} for i in range(times)]
    return value
