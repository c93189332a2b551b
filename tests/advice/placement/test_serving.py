"""Services on slices: rates met on valid layouts, with fewer GPUs than ParvaGPU."""

from collections import Counter

import pytest
from shared import parvagpu

from gpuyard_advisor.advice.placement.serving import (
    MeasuredReplica,
    ServiceDemand,
    best_throughput,
    pack_services,
)
from gpuyard_core.catalogue.gpus import MIG_PRODUCTS
from gpuyard_core.catalogue.mig_layouts import place_profiles
from kit.traces import trace_file

A100 = MIG_PRODUCTS["A100-80"]


def test_only_measurements_below_the_latency_count():
    measured = [
        MeasuredReplica(profile="1g.10gb", throughput=10, latency_ms=20),
        MeasuredReplica(profile="1g.10gb", throughput=30, latency_ms=50),
        MeasuredReplica(profile="2g.20gb", throughput=40, latency_ms=60),
    ]
    assert best_throughput(measured, 50) == {"1g.10gb": 10}


def test_a_service_without_a_suitable_measurement_has_no_packing():
    assert pack_services(A100, [ServiceDemand(name="bert", rate=1, throughput={})]) is None


def test_replicas_of_two_services_share_a_gpu():
    packed = pack_services(
        A100,
        [
            ServiceDemand(name="bert", rate=90, throughput={"3g.40gb": 100}),
            ServiceDemand(name="vgg", rate=70, throughput={"4g.40gb": 80, "7g.80gb": 100}),
        ],
    )
    assert (packed.gpus, packed.bound, packed.proved) == (1, 1, True)
    assert packed.replicas == {"bert": {"3g.40gb": 1}, "vgg": {"4g.40gb": 1}}


@pytest.mark.parametrize(
    ("factor", "theirs", "ours"),
    [
        (1, [2, 3, 5, 7, 13, 17], [2, 3, 5, 7, 12, 16]),
        (10, [10, 19, 38, 57, 119, 151], [9, 18, 37, 55, 113, 148]),
    ],
)
def test_the_sets_of_parvagpu(factor, theirs, ours):
    folder = trace_file("parvagpu").parent
    demands = [parvagpu.demands(folder, index, factor) for index in range(parvagpu.SETS)]
    assert [parvagpu.parvagpu_gpus(each) for each in demands] == theirs
    packed = [pack_services(A100, each) for each in demands]
    assert [each.gpus for each in packed] == ours
    for services, found in zip(demands, packed, strict=True):
        available = Counter()
        for partition in found.partitions:
            assert place_profiles(A100, partition.layout) is not None
            available.update({n: c * partition.gpus for n, c in partition.layout.items()})
        for service in services:
            replicas = found.replicas[service.name]
            available.subtract(replicas)
            served = sum(service.throughput[name] * count for name, count in replicas.items())
            assert served >= service.rate * (1 - 1e-6)
        assert min(available.values()) >= 0
