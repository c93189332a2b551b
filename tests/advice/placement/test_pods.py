"""Pods on nodes: nothing over-committed, the policies' choices, and the published placements of openb."""

from hypothesis import given, settings
from hypothesis import strategies as st
from shared import openb

from gpuyard_advisor.advice.placement.fragmentation import FragmentationPolicy, typical_pods
from gpuyard_advisor.advice.placement.nodes import Cluster, GpuNode, Placed, Placer, PodRequest
from kit.searches import examples
from kit.traces import trace_file

BIG = GpuNode(cpu_milli=96000, memory_mib=393216, gpus=8, gpu="A100")
SMALL = GpuNode(cpu_milli=16000, memory_mib=65536, gpus=1, gpu="T4")
WHOLE = PodRequest(cpu_milli=8000, memory_mib=1024, gpus=1, gpu_milli=1000)
HALF = PodRequest(cpu_milli=4000, memory_mib=1024, gpus=1, gpu_milli=500)


def placer(nodes, kinds):
    cluster = Cluster(nodes)
    return Placer(cluster, FragmentationPolicy(cluster, typical_pods(kinds)))


def test_two_halves_share_a_gpu():
    placing = placer([BIG], [HALF, WHOLE])
    assert [placing.place(HALF), placing.place(HALF)] == [Placed(0, (0,)), Placed(0, (0,))]


def test_a_single_gpu_goes_to_the_node_whose_gpus_no_large_pod_needs():
    large = PodRequest(cpu_milli=64000, gpus=8, gpu_milli=1000)
    assert placer([BIG, SMALL], [large, WHOLE]).place(WHOLE) == Placed(1, (0,))


def test_a_pod_gets_only_models_that_it_allows():
    wanted = PodRequest(cpu_milli=1000, gpus=1, gpu_milli=1000, gpu_models=("A100",))
    placing = placer([SMALL, BIG], [wanted])
    assert placing.place(wanted) == Placed(1, (0,))
    other = PodRequest(cpu_milli=1000, gpus=1, gpu_milli=1000, gpu_models=("H100",))
    assert placing.place(other) is None


def test_a_removed_pod_leaves_its_resources():
    placing = placer([SMALL], [WHOLE])
    placed = placing.place(WHOLE)
    assert placing.place(HALF) is None
    placing.cluster.remove(WHOLE, placed)
    assert placing.place(HALF) == Placed(0, (0,))


PODS = st.builds(
    PodRequest,
    cpu_milli=st.integers(0, 48000),
    memory_mib=st.integers(0, 100000),
    gpus=st.just(1),
    gpu_milli=st.integers(1, 1000),
) | st.builds(
    PodRequest,
    cpu_milli=st.integers(0, 96000),
    memory_mib=st.integers(0, 100000),
    gpus=st.integers(0, 8),
    gpu_milli=st.just(1000),
)


@settings(max_examples=examples(30))
@given(st.lists(PODS, min_size=1, max_size=30))
def test_no_resource_is_over_committed_and_a_rejected_pod_fits_nowhere(pods):
    placing = placer([BIG, SMALL, BIG], [*pods, WHOLE])
    cluster = placing.cluster
    expected = [cluster.cpu.sum(), cluster.memory.sum(), cluster.gpu_milli.sum()]
    for pod in pods:
        if placing.place(pod) is None:
            assert not cluster.fits(pod, slice(None)).any()
        else:
            expected[0] -= pod.cpu_milli
            expected[1] -= pod.memory_mib
            expected[2] -= pod.total_milli
    assert [cluster.cpu.sum(), cluster.memory.sum(), cluster.gpu_milli.sum()] == expected
    assert min(cluster.cpu.min(), cluster.memory.min(), cluster.gpu_milli.min()) >= 0


def test_fgd_allocates_as_published_at_each_percent_of_load(monkeypatch):
    monkeypatch.setenv("GPUYARD_TRACES", str(trace_file("openb").parent))
    allocated, _ = openb.run("FGD", "default", 42)
    assert allocated == openb.published("default", "FGD")[42]


def test_less_is_left_unallocated_than_with_the_published_policy(monkeypatch):
    monkeypatch.setenv("GPUYARD_TRACES", str(trace_file("openb").parent))
    allocated, _ = openb.run("gpuyard", "default", 42)
    assert allocated[130] == 95.68
    assert openb.published("default", "FGD")[42][130] == 95.29
