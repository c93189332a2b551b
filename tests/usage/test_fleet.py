"""The present state of a fleet from its recorded series."""

import math

import promql_parser

from gpuyard_advisor.usage.fleet import (
    IDLE_HOURS,
    SERIES,
    IdleGpu,
    QueueReading,
    Wait,
    merge_by_pod,
    read_fleet,
)

POD = {
    "pool": "train", "node": "n1", "gpu": "GPU-1", "slice": "", "team": "vision",
    "namespace": "vision", "pod": "job-0", "class": "train",
}  # fmt: skip


def answering(**series):
    by_name = {SERIES.get(key, key): samples for key, samples in series.items()}

    def query(expression):
        found = by_name.get("idle_hours" if expression == IDLE_HOURS else expression, [])
        return [(tuple(sorted(labels.items())), value) for labels, value in found]

    return query


def test_without_data_nothing_is_zero():
    fleet = read_fleet(answering())
    assert (fleet.gpus, fleet.pools, fleet.teams, fleet.queues, fleet.idle) == ((),) * 5
    assert fleet.cost == {}
    assert fleet.missing == tuple(SERIES.values())


def test_pools_and_teams_are_sums_and_what_is_not_known_stays_unknown():
    fleet = read_fleet(
        answering(
            billed=[({"pool": "train"}, 8)],
            allocated=[
                ({"pool": "train", "team": "vision", "class": "a"}, 2),
                ({"pool": "train", "team": "vision", "class": "b"}, 1),
            ],
            used=[({"pool": "train", "team": "vision"}, math.nan)],
            cost=[
                ({"pool": "train", "team": "vision", "part": "used"}, 10),
                ({"pool": "train", "team": "vision", "part": "allocated_idle"}, 5),
                ({"pool": "train", "team": "", "part": "unallocated"}, 7),
            ],
        )
    )
    (pool,), (team,) = fleet.pools, fleet.teams
    assert (pool.billed, pool.allocated, pool.used, pool.idle_usd, pool.usd) == (
        8,
        3,
        None,
        12,
        None,
    )
    assert (team.name, team.allocated, team.used, team.idle_usd, team.usd) == (
        "vision",
        3,
        None,
        5,
        15,
    )
    assert fleet.cost == {"used": 10, "allocated_idle": 5, "unallocated": 7}


def test_an_idle_gpu_has_the_price_of_its_part_of_the_node():
    gpus = [({"pool": "train", "node": "n1", "gpu": f"GPU-{n}"}, 0.0) for n in range(4)]
    busy, free = {**POD, "pod": "busy"}, {**POD, "pod": "other", "node": "n2"}
    fleet = read_fleet(
        answering(
            gpu_active=gpus,
            gpu_price=[({"pool": "train", "node": "n1"}, 10)],
            pod_allocated=[(POD, 0.5), (busy, 1), (free, 1)],
            pod_active=[(POD, 0.01), (busy, 0.9), (free, 0.0)],
            idle_hours=[(POD, 6)],
        )
    )
    first = IdleGpu("train", "n1", "GPU-1", "", "vision", "vision", "job-0", 0.5, 6, 5.0)
    assert fleet.idle[0] == first
    assert [(g.pod, g.hours, g.usd_per_hour) for g in fleet.idle[1:]] == [("other", None, None)]
    assert (fleet.gpus[0].active, fleet.gpus[0].allocated) == (0.0, None)


def test_a_queue_without_priorities_and_a_target_without_a_value():
    fleet = read_fleet(
        answering(
            pending=[
                ({"queue": "vision", "status": "active"}, 2),
                ({"queue": "vision", "status": "inadmissible"}, 1),
                ({"queue": "speech", "status": "active"}, 0),
            ],
            wait_p50=[({"queue": "search"}, 5)],
            wait_p95=[({"queue": "vision", "priority": "high"}, 120)],
            actual=[({"target": "idle_percent"}, 12)],
        )
    )
    assert fleet.queues == (
        QueueReading("search", None, (Wait("", 5, None),)),
        QueueReading("speech", 0, ()),
        QueueReading("vision", 3, (Wait("high", None, 120),)),
    )
    assert (fleet.targets[0].value, fleet.targets[0].actual) == (None, 12)


def test_the_query_for_idle_hours_is_promql():
    assert promql_parser.parse(IDLE_HOURS)


def test_equal_gpus_of_a_pod_are_one_row():
    one = IdleGpu("train", "n1", "GPU-1", "", "vision", "vision", "job-0", 1, 6, 5.0)
    other = IdleGpu("train", "n1", "GPU-2", "", "vision", "vision", "job-0", 1, 2, 5.0)
    unknown = IdleGpu("train", "n1", "GPU-3", "", "vision", "vision", "job-0", 0.5, None, None)
    (row,) = merge_by_pod([one, other])
    assert (row.gpus, row.hours, row.usd_per_hour) == (2, 2, 10.0)
    (row,) = merge_by_pod([one, unknown])
    assert (row.gpus, row.hours, row.usd_per_hour) == (1.5, 6, None)
