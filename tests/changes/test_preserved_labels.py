"""Configurations of the last deployment stay as long as a node carries their names."""

import pytest
import yaml

from gpuyard.changes.deployed_state import deployed_state
from gpuyard.changes.preserved_labels import with_referenced_node_configs
from gpuyard.render.gpu_operator import gpu_operator_objects
from gpuyard.render.nodes import fake_node_objects
from kit.stacks import cut_pool, plan_of, platform, shared_pool

SEVENTHS = {"mig": {"1g.5gb": 7}}


def planned(sharing=None, replicas=4):
    cut = cut_pool(**({"sharing": sharing} if sharing else {}))
    shared = shared_pool(sharing={"time_slicing": replicas})
    return plan_of(platform([cut, shared], cloud="simulated"))


def stand(*objects):
    """What the engine knows of objects that it has made."""
    return deployed_state(
        {
            "version": 3,
            "deployment": {
                "resources": [
                    {
                        "urn": f"urn:pulumi:dev::lab::{kind}::{number}",
                        "type": kind,
                        "outputs": outputs,
                    }
                    for number, (kind, outputs) in enumerate(objects)
                ]
            },
        }
    )


def made(plan, pools=None):
    nodes = [each for pool in pools or plan.pools for each in fake_node_objects(plan, pool)]
    kinds = {"ConfigMap": "kubernetes:core/v1:ConfigMap", "Node": "kubernetes:core/v1:Node"}
    objects = [*gpu_operator_objects(plan), *nodes]
    return [(kinds.get(each["kind"], "kubernetes:x"), each) for each in objects]


def configurations(objects):
    """Names in both ConfigMaps."""
    maps = {o["metadata"]["name"]: o["data"] for o in objects if o["kind"] == "ConfigMap"}
    mig = yaml.safe_load(maps["gpuyard-mig-parted"]["config.yaml"])["mig-configs"]
    return mig, maps["gpuyard-device-plugin"]


OLD, NEW = planned(), planned(SEVENTHS, 8)


def test_what_nodes_carry_is_kept_beside_what_comes():
    mig, plugin = configurations(
        with_referenced_node_configs(gpu_operator_objects(NEW), stand(*made(OLD)))
    )
    (old, shared), (new, more) = OLD.pools, NEW.pools
    assert set(mig) == {"all-disabled", old.mig_config, new.mig_config}
    assert set(plugin) == {
        old.plugin_config,
        new.plugin_config,
        shared.plugin_config,
        more.plugin_config,
    }
    before, _ = configurations(gpu_operator_objects(OLD))
    assert mig[old.mig_config] == before[old.mig_config]


@pytest.mark.parametrize(
    ("kind", "outputs"),
    [
        ("aws:eks/nodeGroup:NodeGroup", lambda labels: {"labels": labels}),
        ("gcp:container/nodePool:NodePool", lambda labels: {"nodeConfig": {"labels": labels}}),
    ],
)
def test_a_cloud_says_it_of_many_nodes_at_once(kind, outputs):
    maps = [each for each in made(OLD) if "ConfigMap" in each[0]]
    there = stand(*maps, (kind, outputs(dict(OLD.pools[0].labels))))
    mig, plugin = configurations(with_referenced_node_configs(gpu_operator_objects(NEW), there))
    assert set(mig) == {"all-disabled", OLD.pools[0].mig_config, NEW.pools[0].mig_config}
    assert OLD.pools[1].plugin_config not in plugin


@pytest.mark.parametrize(
    "there",
    [
        stand(),
        stand(*made(NEW)),
        stand(*(each for each in made(OLD) if "Node" not in each[0])),
        stand(*(each for each in made(OLD) if "ConfigMap" not in each[0])),
        stand(*made(NEW), ("kubernetes:core/v1:ConfigMap", {"metadata": "[secret]"})),
        stand(
            (
                "kubernetes:core/v1:ConfigMap",
                {**gpu_operator_objects(OLD)[1], "data": {"other": ""}},
            ),
            *(each for each in made(OLD) if "Node" in each[0]),
        ),
    ],
    ids=["nothing", "the same", "no node", "no configuration", "unreadable", "another file"],
)
def test_nothing_is_kept_that_nobody_carries(there):
    objects = gpu_operator_objects(NEW)
    assert with_referenced_node_configs(objects, there) == objects
