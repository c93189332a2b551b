"""Inference services in the plan of a terminal."""

import io

from gpuyard.cli.views.plan import show_services
from gpuyard_core.terminal.console import Console
from kit.stacks import plan_of, platform, pool, shape, team


def shown(*services):
    raw = platform(
        [pool()],
        [team(guarantee={"train": 16})],
        shapes=[shape("chat", gpus_per_node=1)],
        observability={},
        addons=["keda"],
        workloads={"services": list(services)},
    )
    screen = io.StringIO()
    show_services(plan_of(raw), Console(screen))
    return screen.getvalue()


def test_each_group_of_replicas_has_a_row():
    one = {
        "name": "api",
        "team": "vision",
        "shape": "chat",
        "image": "r.io/x:1",
        "replicas": "1..8",
    }
    prefill = {"shape": "chat", "replicas": 2}
    text = shown({**one, "scale_on": ["gpu", "requests"], "prefill": prefill})
    rows = [line.split() for line in text.splitlines() if "deployment" in line]
    assert rows == [
        ["api", "vision", "deployment", "train", "1..8", "gpu,", "requests"],
        ["api-prefill", "vision", "deployment", "train", "2"],
    ]


def test_a_platform_without_services_shows_nothing():
    assert shown() == ""
