"""Nodes of a lower rung are told on a real API server, by the rights that are rendered for it alone."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from gpuyard.render.kueue.requeue import requeue_objects
from gpuyard.render.programs import SETTINGS_FILE
from gpuyard_agents.agent import read_settings
from gpuyard_agents.client import JsonClient, RequestRejected
from gpuyard_agents.requeue import reconcile as looking
from gpuyard_agents.requeue.reconcile import Settings, reconcile
from gpuyard_core.names import POOL_LABEL, requeue_name, system_namespace
from gpuyard_simulate.api import Api
from kit.cluster.lab import Value, apply, delete, path_of
from kit.stacks import plan_of, platform, pool, team

pytestmark = [pytest.mark.cluster]

NAME = "told"
RESERVED = "cr-0123456789abcdef0"
EVENTS = "/api/v1/namespaces/default/events?fieldSelector=reason%3DCapacityFallback"
RIGHTS = {"ServiceAccount", "ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"}


def raw() -> Value:
    """Reserved, then on demand: no node goes, and the program runs to tell of the ladder alone."""
    ladder = [{"reserved": RESERVED, "nodes": 1}, "on-demand"]
    one = pool("train", nodes="0..4", zones=["us-east-1a"], capacity=ladder)
    return platform([one], [team(guarantee={"train": 8})], name=NAME, cloud="aws")


def node(name: str, group: str) -> Value:
    labels = {POOL_LABEL: "train", "eks.amazonaws.com/nodegroup": group}
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}}


@contextmanager
def account(api: Api, objects: list[Value], certificate: Path) -> Iterator[JsonClient]:
    """The server, asked as the program's account."""
    space = system_namespace(NAME)
    home = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": space}}
    rights = [home, *(each for each in objects if each["kind"] in RIGHTS)]
    for each in rights:
        apply(api, each)
    path = f"/api/v1/namespaces/{space}/serviceaccounts/{requeue_name(NAME)}/token"
    body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    certificate.write_text(api.certificate)
    server = JsonClient(
        api.server, api.call("POST", path, body)["status"]["token"], str(certificate)
    )
    try:
        yield server
    finally:
        server.close()
        for each in reversed(rights):
            delete(api, path_of(each))


def told(api: Api) -> dict[str, str]:
    found = api.call("GET", EVENTS)["items"]
    names = [each["involvedObject"]["name"] for each in found]
    assert len(names) == len(set(names)), "each is told once"
    return dict(zip(names, (each["message"] for each in found), strict=True))


def test_a_node_on_demand_is_told_while_a_reserved_one_is_not_there(
    api: Api, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    objects = requeue_objects(plan_of(raw()))
    document = next(each for each in objects if SETTINGS_FILE in each.get("data", {}))
    settings = read_settings(Settings, document["data"][SETTINGS_FILE])
    (held,), (demand,) = (rung.names for rung in settings.pool_options[0].options)
    nodes = [node("told-a", demand), node("told-b", held), node("told-c", demand)]
    said: list[str] = []
    with account(api, objects, tmp_path / "ca.crt") as server:
        try:
            apply(api, nodes[0])
            for _ in range(2):  # the second as who begins anew, and has forgotten whom it told of
                monkeypatch.setattr(looking, "_REPORTED", set[str]())
                assert reconcile(server, settings, said.append) == 0
            short = f"0 of 1 reserved {RESERVED} nodes"
            says = f"The node uses capacity option on-demand: pool train has {short}, and no more were available."
            assert told(api) == {"told-a": says}
            assert said == [f"told-a: CapacityFallback: {says}"]
            for each in nodes[1:]:
                apply(api, each)
            monkeypatch.setattr(looking, "_REPORTED", {"told before"})
            reconcile(server, settings, said.append)
            assert list(told(api)) == ["told-a"], "the better rung is full: nothing falls through"
            for path in ("/api/v1/pods", "/apis/kueue.x-k8s.io/v1beta2/workloads"):
                with pytest.raises(RequestRejected, match="403: "):
                    server.request_json("GET", path)
        finally:
            for each in nodes:
                delete(api, path_of(each))
