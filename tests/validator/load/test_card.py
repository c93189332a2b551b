"""One GPU's work over a driver in C: calls, structures and codes are CUDA's, clock and faults ours."""

import io
import json
import shutil

import pytest

from gpuyard_validator.load import cuda as driver
from gpuyard_validator.load.cuda import CardError, CudaCard, NoLibrary
from gpuyard_validator.load.record import ALONE, LoadPlan, Rate, Task
from gpuyard_validator.load.work import measure_rates
from gpuyard_validator.load.worker import serve
from gpuyard_validator.values import decode
from kit.every import every

SMALL = LoadPlan(
    tasks=tuple(ALONE), numbers="bf16", seconds=0.0, copy=3 << 18, host=1 << 18, side=32, rounds=3
)
ITS = "GPU-a0a0a0a0-a0a0-a0a0-a0a0-a0a0a0a0a0a0"


@pytest.fixture
def use(cuda, tmp_path, monkeypatch):
    """The driver with these faults; a library of its own each time, since an error stays in it."""
    made = []

    def chosen(faults="", folder="whole"):
        at = tmp_path / f"{len(made)}"
        shutil.copytree(cuda / folder, at, symlinks=True)
        made.append(at)
        monkeypatch.setenv("FAKE_CUDA", faults)
        monkeypatch.setattr(driver, "DRIVER", str(at / "libcuda.so.1"))
        monkeypatch.setattr(driver, "BLAS", (str(at / "libcublas.so.12"),))

    return chosen


def told(todo=SMALL, index=0):
    """What a process of this GPU says, line by line."""
    replies = io.StringIO()
    code = serve(lambda: CudaCard(index), todo, replies)
    return code, [json.loads(line) for line in replies.getvalue().splitlines()]


def found(said):
    return [decode(Rate, each["rate"]) for each in said if "rate" in each]


def test_each_kind_of_work_is_timed_by_the_gpus_clock_and_comes_out_right(use):
    use("gpus=3 memory=2600 to_device=55 to_host=52 peers=380 product=740")
    code, said = told()
    assert code == 0
    assert said[0] == {"uuid": ITS}
    assert said[-1] == {"versions": ["CUDA 13.1", "cuBLAS 130100"], "end": True}
    assert [each["begin"] for each in said if "begin" in each] == [str(each) for each in ALONE]
    made = found(said)
    assert [(r.task, r.other, r.wrong) for r in made] == [
        ("memory", None, 0),
        ("to_device", None, 0),
        ("to_host", None, 0),
        ("peers", 1, 0),
        ("peers", 2, 0),
        ("product", None, 0),
    ]
    gigas = [r.amount / r.seconds / 1e9 for r in made]
    assert gigas == pytest.approx([2600, 55, 52, 380, 380, 740_000], rel=1e-3)
    assert {r.rounds for r in made} == {SMALL.rounds}, "what warms up is not counted"
    assert made[0].amount == 2 * SMALL.copy, "each byte is read, and written"
    assert made[-1].amount == 2 * SMALL.side**3


@every("numbers", ["bf16", "fp16"])
def test_a_step_is_three_products_and_a_copy(use, numbers):
    use("product=10 memory=100")
    todo = LoadPlan(tasks=("step",), numbers=numbers, seconds=0.0, side=32, rounds=2)
    code, said = told(todo)
    (step,) = found(said)
    assert (code, step.wrong, step.amount) == (0, 0, 6 * 32**3)
    alone = 6 * 32**3 / 10e12 + 2 * 2 * 32**2 / 100e9
    assert step.seconds == pytest.approx(alone, rel=1e-3)


def test_steps_go_on_for_their_time_and_are_looked_at_in_between(use):
    use("flipped=31")
    todo = LoadPlan(tasks=("step",), numbers="bf16", seconds=0.3, side=16, rounds=2)
    (step,) = found(told(todo)[1])
    assert step.rounds > 10
    use("")
    todo = LoadPlan(tasks=("to_device",), numbers="bf16", seconds=0.1, host=1 << 10, rounds=2)
    (copy,) = found(told(todo)[1])
    assert copy.rounds > 10


@every(
    "where, which",
    [
        ("memory", ["memory"]),
        ("to_device", ["memory", "to_device", "to_host", "peers", "product"]),
        ("to_host", ["memory", "to_device", "to_host", "peers", "product"]),
        ("peers", ["peers"]),
        ("product", ["product"]),
    ],
)
def test_a_wrong_result_without_an_error_is_counted(use, where, which):
    """What crosses the bus wrongly spoils all that is looked at by it, too."""
    use(f"flip={where}")
    made = found(told()[1])
    bad = [r.task for r in made if r.wrong]
    assert set(which) >= set(bad)
    assert where in bad
    (one,) = [r for r in made if r.task == where]
    assert one.wrong == 1 or where == "to_host"


def test_a_step_with_a_wrong_element_is_found_in_each_of_its_products(use):
    use("flip=product")
    todo = LoadPlan(tasks=("step",), numbers="bf16", seconds=0.0, side=16, rounds=1)
    (step,) = found(told(todo)[1])
    assert step.wrong == 3


@every(
    "faults, begun, failed, code",
    [
        ("noinit", [], "cuInit: CUDA_ERROR_NO_DEVICE (100)", 100),
        ("oom", ["memory"], "cuMemAlloc_v2: CUDA_ERROR_OUT_OF_MEMORY (2)", 2),
        ("ecc=2", ["memory"], "cuStreamSynchronize: CUDA_ERROR_ECC_UNCORRECTABLE (214)", 214),
        ("noblas", [str(each) for each in ALONE], "cublasCreate_v2: cuBLAS status (1)", 1),
    ],
)
def test_an_error_is_told_with_its_call_and_its_name(use, faults, begun, failed, code):
    use(faults)
    ended, said = told()
    assert ended == 1
    assert [each["begin"] for each in said if "begin" in each] == begun
    assert said[-1] == {"failed": failed, "code": code}


def test_a_gpu_that_is_not_there_and_a_code_without_a_name(use):
    use("gpus=1")
    assert told(index=4)[1] == [{"failed": "cuDeviceGet: unknown (101)", "code": 101}]


def test_without_a_driver_nothing_is_run_and_without_cublas_no_product(use, monkeypatch):
    use(folder="driver")
    code, said = told()
    assert code == 0
    assert [r.task for r in found(said)] == ["memory", "to_device", "to_host", "peers"]
    (lacks,) = [each["lacks"] for each in said if "lacks" in each]
    assert lacks.startswith("cuBLAS not found: ")
    monkeypatch.setattr(driver, "DRIVER", "/nowhere/libcuda.so.1")
    code, (said,) = told()
    assert code == 1
    assert said["missing"].startswith("/nowhere/libcuda.so.1: cannot open")


def test_a_driver_that_lacks_a_call_is_too_old(use, monkeypatch):
    use()
    monkeypatch.setattr(driver, "DRIVER", "libc.so.6")
    assert told()[1] == [{"missing": "libc.so.6 has no cuInit"}]


def test_what_is_broken_otherwise_is_told_too():
    replies = io.StringIO()

    def made():
        raise ValueError("a bug of ours")

    assert serve(made, SMALL, replies) == 1
    assert json.loads(replies.getvalue()) == {"failed": "ValueError: a bug of ours", "code": 0}


def test_gpus_that_share_no_memory_have_no_rates_of_peers(use):
    use("gpus=3 alone")
    code, said = told()
    assert code == 0
    assert "peers" not in {r.task for r in found(said)}


def test_cublas_of_nvidias_wheels_is_found_beside_python_packages(cuda, use, tmp_path, monkeypatch):
    use(folder="driver")
    folder = tmp_path / "site" / "nvidia" / "cu13" / "lib"
    folder.mkdir(parents=True)
    shutil.copy(driver.DRIVER, folder / "libcublas.so.13")
    monkeypatch.setattr(driver, "BLAS", ("libcublas.so.13",))
    monkeypatch.syspath_prepend(tmp_path / "site")
    # This one is a library of its own, with no context: it is found, and says so.
    assert told()[1][-1] == {"failed": "cublasCreate_v2: cuBLAS status (1)", "code": 1}


def test_memory_is_given_back_and_asked_for_only_when_it_is_used(use):
    use()
    card = CudaCard(0)
    for task in (Task.MEMORY, Task.PEERS, Task.MATMUL):
        list(measure_rates(card, task, SMALL))
        assert (card._held, card._pinned) == ([], [])
    assert card.peers() == [1], "that memory is shared already is no error"
    with pytest.raises(CardError, match="cuMemAlloc_v2: CUDA_ERROR_OUT_OF_MEMORY"):
        card.device(0)


def test_a_product_without_its_library_gives_its_memory_back(use):
    use(folder="driver")
    card = CudaCard(0)
    with pytest.raises(NoLibrary):
        list(measure_rates(card, Task.MATMUL, SMALL))
    assert (card._held, card._pinned) == ([], [])
