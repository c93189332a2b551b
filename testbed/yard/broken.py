"""The last scene of the demo: a GPU fails, its node is cordoned, and its job runs on other nodes.

For the scene the platform is deployed with hardware validation, and afterwards without it again.
"""

import json
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

from gpuyard_core.names import CHECK_RESULT_LABEL, CHECKED_LABEL, POOL_LABEL
from gpuyard_simulate.api import Api, ApiObject
from gpuyard_simulate.validation.machine import FAULTS
from testbed.yard.engine import Engine, deployed_with
from testbed.yard.jobs import wait

CHECK = {"image": "registry.example.org/ml/validator:demo", "required": False, "gate": "taint"}
POOL = "train"
NO_SPARE_ROWS = {"3": {"remap_failure": True}}
_EVENTS = "/api/v1/namespaces/default/events?fieldSelector=involvedObject.name="


@contextmanager
def with_the_check(pulumi: Engine, say: Callable[[str], None]) -> Generator[None]:
    """The platform with validation of its nodes, and afterwards the one of its stack file."""
    say("  pulumi up with `validation` in the stack file: nodes take jobs after they pass")
    with deployed_with(pulumi, {"validation": CHECK}):
        yield
        say("  pulumi up, without it")


def all_passed(api: Api) -> bool:
    """Whether each node of the pool has passed validation."""
    nodes = api.call("GET", f"/api/v1/nodes?labelSelector={POOL_LABEL}={POOL}")["items"]
    return all(
        _result(node) == "passed" and CHECKED_LABEL in node["metadata"]["labels"] for node in nodes
    )


def breaks(api: Api, node: str) -> str:
    """A GPU of a node fails and the node is validated again: the message when it is cordoned."""
    _mark(api, node, json.dumps(NO_SPARE_ROWS))
    api.patch(f"/api/v1/nodes/{node}", {"metadata": {"labels": {CHECKED_LABEL: None}}})
    wait(lambda: _closed(_node(api, node)), f"{node} to be cordoned")
    events = api.call("GET", f"{_EVENTS}{node},reason=NodeFailedCheck")["items"]
    return str(events[-1]["message"]) if events else _result(_node(api, node))


def repair(api: Api, node: str) -> None:
    """The GPU is repaired; the node's next validation uncordons it."""
    _mark(api, node, None)
    wait(lambda: not _closed(_node(api, node)), f"{node} to be uncordoned")


def _mark(api: Api, node: str, faults: str | None) -> None:
    api.patch(f"/api/v1/nodes/{node}", {"metadata": {"annotations": {FAULTS: faults}}})


def _node(api: Api, name: str) -> ApiObject:
    result: Any = api.call("GET", f"/api/v1/nodes/{name}")
    return dict(result)


def _closed(node: ApiObject) -> bool:
    return bool(node["spec"].get("unschedulable"))


def _result(node: ApiObject) -> str:
    return str(node["metadata"]["labels"].get(CHECK_RESULT_LABEL, ""))
