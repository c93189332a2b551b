"""What Helm makes of our values is read by the real manager: its own strict decoding is the judge."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from gpuyard.render.kueue.chart import kueue_values
from gpuyard_simulate import cluster, processes, state
from gpuyard_simulate.api import Api
from gpuyard_simulate.kueue import manager as kueue_manager
from kit import chart as kueue_chart
from kit.cluster.queues import starts_kueue_anew
from kit.stacks import cut_pool, plan_of, platform, pool, team

pytestmark = [pytest.mark.cluster]

RAW = platform(
    [pool(), cut_pool()],
    [team(guarantee={"train": 8})],
    queueing={"usage_half_life_hours": 24, "start_within_minutes": 45, "mig_quota": "slices"},
)


def config_map() -> dict[str, Any]:
    """The one that the chart installs."""
    objects = kueue_chart.rendered(kueue_values(plan_of(RAW)), kueue_manager.NAMESPACE)
    (found,) = [o for o in objects if o["metadata"]["name"] == "kueue-manager-config"]
    assert found["kind"] == "ConfigMap"
    return found


@pytest.fixture
def before(api: Api, started: cluster.Outcome) -> processes.Process | None:
    """The Kueue that runs with the cluster's own configuration."""
    return state.folder_of(started.status.name).read_process("kueue")


@pytest.fixture
def made(api: Api, before: processes.Process | None) -> Iterator[dict[str, Any]]:
    """The chart's ConfigMap, on a cluster that then gets its own configuration back."""
    found = config_map()
    api.apply(found)
    yield found
    if api.get(kueue_manager.CONFIG_MAP):
        api.call("DELETE", kueue_manager.CONFIG_MAP)


def test_the_real_manager_starts_with_the_charts_configuration(
    made: dict[str, Any], before: processes.Process | None, api: Api, started: cluster.Outcome
):
    starts_kueue_anew(started.status.name, before)
    written = Path(started.status.kubeconfig).with_name("kueue") / "configuration.yaml"
    running = yaml.safe_load(written.read_text())
    wanted = yaml.safe_load(made["data"][kueue_manager.CONFIG_KEY])
    # Ports and certificates are those of a process beside the cluster; everything else is the chart's.
    for part in set(wanted) - {"health", "metrics", "webhook", "leaderElection", "featureGates"}:
        assert running[part] == wanted[part], part
    # Its aggregated API server cannot be reached there.
    assert running["featureGates"] == wanted["featureGates"] | {"VisibilityOnDemand": False}
    assert running["metrics"]["enableClusterQueueResources"] is True
    assert kueue_manager.is_ready(api)


def test_the_real_manager_refuses_a_word_that_it_does_not_know(
    made: dict[str, Any], api: Api, started: cluster.Outcome
):
    """Else the test above would prove nothing."""
    text = made["data"][kueue_manager.CONFIG_KEY]
    wrong = yaml.safe_load(text) | {"waitForPodReady": {"timeout": "5m"}}
    api.apply({**made, "data": {kueue_manager.CONFIG_KEY: yaml.safe_dump(wrong)}})
    name = started.status.name
    with pytest.raises(Exception, match="kueue"):
        cluster.up(name)
    api.call("DELETE", kueue_manager.CONFIG_MAP)
    assert cluster.up(name).changed
