"""The fake RDMA device plugin: it refuses what the real one refuses, and reads its file once."""

import json

import pytest

from gpuyard_simulate.adapters.plugin import (
    IMAGE,
    AdaptersRefused,
    RunningPlugin,
    advertised,
    find_running_plugin,
)
from gpuyard_simulate.agents.node import changes

THERE = json.dumps([{"ifNames": "ib0", "vendors": "15b3", "linkTypes": "infiniband"}])


def text(*entries):
    return json.dumps({"configList": list(entries)})


def entry(**more):
    return {
        "resourceName": "hca",
        "rdmaHcaMax": 5,
        "selectors": {"linkTypes": ["infiniband"]},
    } | more


@pytest.mark.parametrize(
    ("given", "found"),
    [
        (text(entry()), {"rdma/hca": 5}),
        (text(entry(resourcePrefix="nvidia.com")), {"nvidia.com/hca": 5}),
        (text(entry(selectors={"vendors": ["15b3"], "ifNames": ["ib1"]})), {"rdma/hca": 0}),
        (text(entry(selectors={}, devices=["ib0"])), {"rdma/hca": 5}),
        (text(entry(), entry(resourceName="b", rdmaHcaMax=0)), {"rdma/hca": 5, "rdma/b": 0}),
    ],
)
def test_what_it_is_told_it_advertises(given, found):
    assert advertised(THERE, given) == found
    assert set(advertised(None, given).values()) == {0}


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ("{", "is no configuration"),
        ("[]", "is no configuration"),
        (text(), "no resources configuration found"),
        (text(entry(resourceName="hca-1")), "contains invalid characters"),
        (text(entry(), entry()), "already exists"),
        (text(entry(rdmaHcaMax=-1)), "rdmaHcaMax < 0"),
        (text(entry(selectors={})), "neither"),
        (text(entry(devices=["ib0"])), "both"),
    ],
)
def test_what_the_real_one_refuses_ends_it(given, reason):
    with pytest.raises(AdaptersRefused, match=reason):
        advertised(THERE, given)


def test_a_node_tells_why_its_plugin_ended():
    node = {
        "metadata": {
            "name": "n-0",
            "labels": {"node.kubernetes.io/instance-type": "p5.48xlarge"},
            "annotations": {},
        },
        "status": {"capacity": {"rdma/hca": "5"}},
    }
    found = changes(node, None, lambda: 0, adapters=RunningPlugin("1", "{"))
    assert [event.component for event in found.events] == [IMAGE]
    assert found.capacity["rdma/hca"] is None


def pod(phase="Running", image=f"r.io/{IMAGE}:v1", **volume):
    mounts = [{"name": "config", "mountPath": "/k8s-rdma-shared-dev-plugin/"}]
    return {
        "metadata": {"uid": "1"},
        "spec": {
            "containers": [{"image": "pause"}, {"image": image, "volumeMounts": mounts}],
            "volumes": [{"name": "config", "configMap": {"name": "a"}, **volume}],
        },
        "status": {"phase": phase},
    }


def test_it_is_a_pod_that_runs_with_its_file():
    maps = {"a": {"config.json": "x"}}
    assert find_running_plugin(pod(), maps) == RunningPlugin("1", "x")
    assert find_running_plugin(pod(phase="Pending"), maps) is None
    assert find_running_plugin(pod(image="other:v1"), maps) is None
    assert find_running_plugin(pod(), {}) is None
    assert find_running_plugin(pod(configMap={"name": "b"}), maps) is None
