"""GPU requests are counted as the scheduler counts them, and wrong ones are named."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuyard_core.manifests.gpu_requests import gpu_count, pod_gpu_request
from kit.every import every

GPU = "nvidia.com/gpu"


def asking(limits=None, requests=None, **more):
    return {"resources": {"limits": limits, "requests": requests}, **more}


@every(
    ("given_value", "count"),
    [
        (8, 8), ("8", 8), (" 8 ", 8), (8.0, 8), ("8.0", 8), ("+8", 8), (0, 0),
        ("8000m", None), ("500m", None), (0.5, None), ("0.5", None), (-1, None), ("-1", None), (True, None),
        (None, None), ("", None), ("eight", None), ("8Gi", None), ([8], None), (float("nan"), None),
        (float("inf"), None), (10**30, None), ("9" * 30, None), ("٨", None),
    ],
)  # fmt: skip
def test_a_number_of_gpus_is_whole(given_value, count):
    assert gpu_count(given_value) == count


DIFFER = "request and limit differ, which Kubernetes rejects; the limit is counted"
NO_COUNT = "is not a number of GPUs and is not counted"


@pytest.mark.parametrize(
    ("container", "asks", "problem"),
    [
        (asking({GPU: "2"}), 2, ""),
        (asking({GPU: 2}, {GPU: "2"}), 2, ""),
        (asking(None, {GPU: 2}), 2, (
            "a request without a limit, which Kubernetes rejects; add limits: 2"
        )),
        (asking({GPU: 2}, {GPU: 1}), 2, DIFFER),
        (asking({GPU: "8000m"}), 0, f"'8000m' {NO_COUNT}; write 8"),
        (asking({GPU: "500m"}), 0, f"'500m' {NO_COUNT}; write a whole number"),
        (asking({GPU: "x" * 99}), 0, f"'{'x' * 38}… {NO_COUNT}; write a whole number"),
        (asking({"cpu": "x", 3: 4}), 0, ""),
        ({"resources": "text"}, 0, ""),
        ({}, 0, ""),
    ],
)  # fmt: skip
def test_limits_count_and_what_is_wrong_is_named(container, asks, problem):
    found, problems = pod_gpu_request([], [container])
    assert found == ({GPU: asks} if asks else {})
    assert problems == ((f"{GPU}: {problem}",) if problem else ())


COUNTS = st.lists(st.integers(0, 9), max_size=4)


@given(COUNTS, COUNTS, COUNTS)
def test_a_pod_needs_the_larger_of_what_runs_and_what_prepares(sidecars, init, main):
    """Sidecars first, so that each init container runs beside all of them."""
    first = [asking({GPU: n}, restartPolicy="Always") for n in sidecars]
    then = [asking({GPU: n}) for n in init]
    asks, problems = pod_gpu_request([*first, *then], [asking({GPU: n}) for n in main])
    assert problems == ()
    wanted = sum(sidecars) + max(sum(main), max(init, default=0))
    assert asks.get(GPU, 0) == wanted
