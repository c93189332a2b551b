"""A cluster that runs is taken into a stack by the real engine; the next preview changes nothing of it."""

import json

import pytest
from testbed.plugins.cloud import installing

from kit.clouds.programs import of_platform
from kit.clouds.running import CONFIG, REGIONS, running
from stacks import STACK

CLOUDS = ("aws:", "gcp:")
OPS = ("same", "update", "create")
OURS = {"gpuyard:index:EksCluster", "gpuyard:index:GkeCluster", "gpuyard:index:GpuNodePool"}


@pytest.mark.parametrize("cloud", REGIONS)
def test_a_cluster_that_runs_is_adopted_and_the_next_preview_changes_nothing_of_it(
    stack, tmp_path, cloud
):
    """Nothing of it is in any state."""
    folder = tmp_path / "cloud"
    stack.env.update(installing.install(tmp_path / "state" / "home", folder))
    lab = running(cloud, folder)
    before = {each.id: each.state for each in lab.account.all()}
    found = lab.search()
    stack.project()
    for key, value in CONFIG.items():
        stack.run("config", "set", "--stack", STACK, key, value)
    (stack.folder / "platform.json").write_text(json.dumps(lab.raw))
    (stack.folder / "__main__.py").write_text(of_platform("platform"))
    config = {"config": {**CONFIG, "gpuyard:platform": lab.raw}}
    (stack.folder / "stack.yaml").write_text(json.dumps(config))
    (stack.folder / "ids.json").write_text(json.dumps(dict(found.ids)))

    where = ["--project", "my-project"] if cloud == "gcp" else []
    command = ["adopt", "./stack.yaml", "--ids", "ids.json", *where, "--into", STACK]
    said = stack.gpuyard(*command)
    assert f"{len(found.ids)} ids found, 0 missing." in said

    preview = stack.run("preview", "--json", "--show-sames").output
    steps = json.loads(preview[preview.index("{\n") :])["steps"]
    done = {op: {_kind(each) for each in steps if each["op"] == op} for op in OPS}
    assert {each["op"] for each in steps} == set(OPS)
    assert not [kind for kind in done["create"] | done["update"] if kind.startswith(CLOUDS)]
    assert sum(_kind(each).startswith(CLOUDS) for each in steps) == len(lab.graph.resources)
    assert (
        done["update"] - {"gpuyard:index:Platform"} < OURS
    )  # what they were given is written down
    assert {each.id: each.state for each in lab.account.all()} == before


def _kind(step):
    return step["urn"].split("::")[2].rpartition("$")[2]
