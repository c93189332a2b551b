"""Nodes that a pool selects on a cluster of one's own: labelled by an up, given back by a destroy."""

import pytest

from kit.stacks import shared_pool, team

PLUGIN = "nvidia.com/device-plugin.config"
NAMES = ("own-1", "own-2", "own-3")
OURS = {"gpuyard.dev/existing", "gpuyard.dev/node-uid", "pulumi.com/patchFieldManager"}


def node(name):
    labels = {"rack": "own", "owner": "stranger"}
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}}


@pytest.fixture
def nodes(api, until):
    """Three nodes of somebody else; their metadata by name, as they are at each call."""

    def there():
        found = {
            one["metadata"]["name"]: one["metadata"] for one in api.cluster.list("v1", "Node", None)
        }
        return {name: found[name] for name in NAMES if name in found}

    for name in NAMES:
        api.cluster.create(node(name), {"fieldManager": "stranger"})
    yield there
    for name in there():
        api.cluster.delete(node(name), name, "Background")


def relabelled(api, name, labels, manager):
    body, query = {"metadata": {"labels": labels}}, {"fieldManager": manager}
    api.cluster.patch(node(name), body, "application/merge-patch+json", query)


def test_selected_nodes_get_labels_and_give_them_back(stack, api, kueue, lab, kubectl, nodes):
    before = {name: one["labels"] for name, one in nodes().items()}
    lab(
        pools=[shared_pool(nodes=3, select={"rack": "own"}, labels={"tier": "gold"})],
        teams=[team(guarantee={"dev/shared": 4}, protect=False)],
    )
    stack.up()
    for name, one in nodes().items():
        ours = {k: v for k, v in one["labels"].items() if before[name].get(k) != v}
        assert set(ours) == {PLUGIN, "tier", "gpuyard.dev/fabric"}
        assert one["annotations"].keys() >= OURS
    stack.unchanged()

    relabelled(api, "own-1", {PLUGIN: "theirs"}, "somebody")
    said = stack.preview(fails=True).output
    assert f"label {PLUGIN} of node own-1 is theirs, but pool dev needs" in said
    assert "its owner is somebody (managedFields)" in said
    assert f"kubectl label node own-1 {PLUGIN}-" in said
    relabelled(api, "own-1", {PLUGIN: None}, "somebody")

    api.cluster.delete(node("own-3"), "own-3", "Background")
    said = stack.up("--refresh=false").output
    assert "pool dev sets 3 nodes, but the cluster has 2 with rack=own" in said
    assert set(nodes()) == {"own-1", "own-2"}
    stack.refresh()
    stack.up()
    assert nodes()["own-1"]["labels"][PLUGIN] == nodes()["own-2"]["labels"][PLUGIN]

    stack.destroy()
    left = nodes()
    assert {name: one["labels"] for name, one in left.items()} == {
        name: before[name] for name in ("own-1", "own-2")
    }
    assert not any(OURS & (one.get("annotations") or {}).keys() for one in left.values())
