"""One spec on two clouds, its machines swapped: what teams see is the same, what is not is listed."""

from dataclasses import fields
from typing import Any

from gpuyard.plan.records import PlatformPlan
from gpuyard.spec.platform import Cloud
from kit.every import every
from kit.stacks import plan_of, platform, shape, team

CUT_HOPPER = {"mig": {"1g.10gb": 2, "2g.20gb": 1, "3g.40gb": 1}}
CASES = {
    "A100": ("p4d.24xlarge", "a2-highgpu-8g", {}),
    "H100": ("p5.48xlarge", "a3-highgpu-8g", {}),
    "H200": ("p5en.48xlarge", "a3-ultragpu-8g", {"capacity": ["spot"]}),
    "B200": ("p6-b200.48xlarge", "a4-highgpu-8g", {"capacity": ["spot"]}),
    "L4, shared": ("g6.12xlarge", "g2-standard-48", {"sharing": {"time_slicing": 4}}),
    "H100, cut": ("p5.48xlarge", "a3-highgpu-8g", {"sharing": CUT_HOPPER}),
}
MAY_DIFFER = {
    "machine": "the machine itself, with its host and its price",
    "machines": "its name",
    "labels": "who tells autoscalers of the GPU, who keeps the cloud's plugin away",
    "taints": "what the cloud taints by itself",
    "capacity_options": "the words in which it is bought",
    "autoscaler_hints": "what the cloud's autoscaler reads",
    "node_software": "image, driver and who brings them",
    "compute_class": "GKE's autoscaler goes by a class, EKS' by the names of groups",
    "node_selector": "on GKE the class as well",
    "upgrade": "how many nodes are made anew at once, and in which way",
    "nccl": "what the cloud's fabric wants of NCCL",
    "allocatable": "what a node keeps for itself",
    "topology_levels": "how near nodes are to each other",
    "numa": "what the host has beside each GPU",
    "gpu": "the product's name where a cloud has another one",
    "node_cpu": "the host",
    "node_memory_gib": "the host",
}


OF_THE_HOST = {
    "limits": "CPUs and memory of the nodes set how much a pod may have",
    "namespaces": "the same, namespace by namespace",
    "guarantee_usd_per_month": "prices",
    "expected_usd_per_month": "prices",
    "name_servers": "where the cloud answers DNS",
}


def on(cloud: Cloud, machine: str, rest: dict[str, Any]) -> PlatformPlan:
    """Two teams that share one kind of GPU that comes and goes, and a workload."""
    cut = "mig" in rest.get("sharing", {})
    unit = "train/1g.10gb" if cut else "train"
    nodes = "1..4" if rest.get("sharing") else "0..4"
    pool = {"name": "train", "machine": machine, "nodes": nodes, "scaling": "autoscaler", **rest}
    teams = [
        team("vision", guarantee={unit: 4}, borrow={unit: 2}),
        team("speech", guarantee={unit: 2}),
    ]
    wanted = {"per_pod": {"slice": "1g.10gb"}} if cut else {"gpus_per_node": 1}
    if "time_slicing" in rest.get("sharing", {}):
        wanted = {"per_pod": {"gpu_memory_gib": 4}}
    return plan_of(platform([pool], teams, cloud=cloud.value, shapes=[shape("job", **wanted)]))


def told(plan: PlatformPlan) -> dict[str, Any]:
    """What of the plan is the platform's, whatever it runs on."""
    queues = plan.queueing
    return {
        "cohorts": queues.cohorts,
        "flavors": [(each.name, each.stopped) for each in queues.flavors],
        "teams": [
            {f.name: getattr(team, f.name) for f in fields(team) if f.name not in OF_THE_HOST}
            for team in plan.teams
        ],
        "namespaces": [[space.name for space in team.namespaces] for team in plan.teams],
        "priorities": queues.priorities,
        "shapes": [each.name for each in plan.shapes],
        "advertised": [pool.advertised for pool in plan.pools],
        "layouts": [pool.layouts for pool in plan.pools],
    }


@every(("aws", "gcp", "rest"), CASES.values(), CASES)
def test_queues_quotas_and_teams_are_the_same_and_the_rest_is_listed(aws, gcp, rest):
    here, there = on(Cloud.AWS, aws, rest), on(Cloud.GCP, gcp, rest)
    assert told(here) == told(there)
    one, other = here.pools[0], there.pools[0]
    apart = {
        each.name for each in fields(one) if getattr(one, each.name) != getattr(other, each.name)
    }
    assert apart <= set(MAY_DIFFER), apart - set(MAY_DIFFER)
    assert {"machine", "machines", "labels"} <= apart
