"""A driver that the operator exchanges, pool by pool: jobs are waited for, and a failure stops the others."""

import re

import pytest

from gpuyard_core.names import DRIVER_VERSION_LABEL, SKIP_UPGRADE_LABEL, UPGRADE_LABEL
from gpuyard_simulate.drivers.upgrading import BROKEN
from kit import waiting
from kit.cluster.yard import QUIET, STACK, Yard

pytestmark = [pytest.mark.engine, pytest.mark.cluster]
COMES = "580.178.04"
NODES = "/api/v1/nodes"


def deploy(yard: Yard, **more: object) -> tuple[int, str]:
    file = yard.config(yard.spec() | more)
    return yard.tried("up", "--stack", STACK, *QUIET, "--config-file", file)


def labels(yard: Yard) -> dict[str, dict[str, str]]:
    """Of nodes with GPUs, by their names."""
    found = yard.api.call("GET", NODES)["items"]
    all_labels = {each["metadata"]["name"]: each["metadata"]["labels"] for each in found}
    return {name: said for name, said in all_labels.items() if DRIVER_VERSION_LABEL in said}


def drivers(yard: Yard) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for name, said in labels(yard).items():
        found.setdefault(name.partition("-")[0], set()).add(said[DRIVER_VERSION_LABEL])
    return found


def annotate(yard: Yard, name: str, value: str | None) -> None:
    yard.api.patch(f"{NODES}/{name}", {"metadata": {"annotations": {BROKEN: value}}})


def closed(yard: Yard) -> list[str]:
    found = yard.api.call("GET", NODES)["items"]
    return [each["metadata"]["name"] for each in found if each["spec"].get("unschedulable")]


@pytest.fixture
def live(up: Yard):
    yield up
    for name in labels(up):
        annotate(up, name, None)
    up.pulumi("destroy", "--stack", STACK, *QUIET)
    up.run("scripts/yard", "up")


@pytest.mark.timeout(900)  # five deployments
def test_the_first_pool_tries_a_driver_and_the_way_back_is_free(live: Yard):
    code, said = deploy(live)
    assert code == 0, said
    waiting.until(
        lambda: {each.get(UPGRADE_LABEL) for each in labels(live).values()},
        lambda found: found == {"upgrade-done"},
        what="nodes that the operator has looked at",
    )
    (had,) = set.union(*drivers(live).values())
    pinned: dict[str, object] = {"software": {"driver": COMES}}
    code, said = deploy(live, **pinned)
    assert code != 0
    pinned["approved_changes"] = sorted(
        set(re.findall(r"with approved_changes: (sha256:[0-9a-f]{12})", said))
    )
    assert set.union(*drivers(live).values()) == {had}, "refused before anything is done"

    names = labels(live)
    for name in names:
        annotate(live, name, f"{COMES}: no symbol version")
    code, said = deploy(live, **pinned)
    assert code != 0
    failed = re.search(
        rf"driver {re.escape(COMES)} does not start on node (\S+) of pool (\w+)", said
    )
    assert failed, said
    assert "no symbol version" in said
    assert f"set `software: {{driver: {had}}}` and deploy" in said
    node, first = failed.groups()
    others = {name for name in names if not name.startswith(f"{first}-")}
    assert {name for name in others if labels(live)[name].get(SKIP_UPGRADE_LABEL)} == others
    assert closed(live) == [node]

    code, said = deploy(live)
    assert code == 0, said
    waiting.until(
        lambda: [each.get(UPGRADE_LABEL) for each in labels(live).values()],
        lambda found: set(found) == {"upgrade-done"},
        what="the driver of before",
    )
    assert set.union(*drivers(live).values()) == {had}
    assert not any(SKIP_UPGRADE_LABEL in said for said in labels(live).values())
    assert closed(live) == []

    for name in names:
        annotate(live, name, None)
    code, said = deploy(live, **pinned)
    assert code == 0, said
    waiting.until(
        lambda: drivers(live),
        lambda found: set.union(*found.values()) == {COMES},
        what="the new driver everywhere",
    )
    assert not any(SKIP_UPGRADE_LABEL in said for said in labels(live).values())
