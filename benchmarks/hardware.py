"""Cost of hardware validation on a GPU machine: the profile quick, readings, and their effect on work.

python benchmarks/hardware.py [--quick 5] [--seconds 20]

It needs an NVIDIA GPU, its driver, nvidia-ml-py and cuBLAS. Everything is printed as one JSON document.
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

from gpuyard.render.validation.expectations import unplanned_expectations_text
from gpuyard_core.catalogue.gpus import find_gpu
from gpuyard_validator.host import Host
from gpuyard_validator.load.cuda import CudaCard
from gpuyard_validator.load.pattern import FLOAT, matrices
from gpuyard_validator.nvml import NvmlReader, NvmlWatch

SIDE, ROUNDS, LOOKS, PAIRS = 8192, 10, 20, 3
POLL = """
import time
from gpuyard_validator.nvml import NvmlWatch
watch = NvmlWatch()
while True:
    watch.look(0, "")
    time.sleep(1)
"""
"""Readings as an agent of the node takes them, in a separate process."""


def quick(times: int) -> dict[str, object]:
    """Time of the profile quick as a process, from start to verdict."""
    machine = NvmlReader(Host()).read()
    gpu = find_gpu(str(machine.gpus[0].name))
    if gpu is None:
        sys.exit(f"the catalogue does not know {machine.gpus[0].name}")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "expectations.json")
        file.write_text(unplanned_expectations_text(gpu, len(machine.gpus)), encoding="utf-8")
        command = [sys.executable, "-m", "gpuyard_validator", "--expect", str(file)]
        seconds, used, codes = [], [], set()
        for _ in range(times):
            before, began = _children(), time.perf_counter()
            codes.add(subprocess.run(command, capture_output=True, check=False).returncode)
            seconds.append(round(time.perf_counter() - began, 3))
            used.append(_children() - before)
    return {"exit_codes": sorted(codes), "seconds": seconds, "cpu": round(median(used), 3)}


def _children() -> float:
    found = resource.getrusage(resource.RUSAGE_CHILDREN)
    return found.ru_utime + found.ru_stime


def looks() -> dict[str, object]:
    """One reading of each kind, without the start of a process."""
    reader, watch = NvmlReader(Host()), NvmlWatch()
    return {"whole": _cost(reader.read), "at_work": _cost(lambda: watch.look(0, ""))}


def _cost(look: Callable[[], object]) -> dict[str, float]:
    look()
    wall, cpu = [], []
    for _ in range(LOOKS):
        began, used = time.perf_counter(), time.process_time()
        look()
        wall.append(time.perf_counter() - began)
        cpu.append(time.process_time() - used)
        time.sleep(0.1)
    return {"ms": round(median(wall) * 1000, 2), "cpu_ms": round(median(cpu) * 1000, 2)}


def beside_work(seconds: float) -> dict[str, object]:
    """Matrix products, alternately without readings and with one each second."""
    card = CudaCard(0)
    left, right = (_sent(card, each.raw("bf16")) for each in matrices(SIDE)[:2])
    target = card.device(SIDE * SIDE * FLOAT)

    def work() -> None:
        card.multiply(target, left, right, SIDE, numbers="bf16")

    _rate(card, work, seconds / 2)
    alone, watched = [], []
    for _ in range(PAIRS):
        alone.append(_rate(card, work, seconds))
        with subprocess.Popen([sys.executable, "-c", POLL]) as process:
            time.sleep(1)
            watched.append(_rate(card, work, seconds))
            process.kill()
    return {"seconds": seconds, "tflops_alone": alone, "tflops_watched": watched}


def _sent(card: CudaCard, raw: bytes) -> int:
    view, found = card.host(len(raw)), card.device(len(raw))
    view[:] = raw
    card.put(found, view, len(raw))
    card.wait()
    return found


def _rate(card: CudaCard, work: Callable[[], None], seconds: float) -> float:
    """TFLOPS by wall time: a stall counts."""
    began, rounds = time.perf_counter(), 0
    while time.perf_counter() - began < seconds:
        card.timed(work, ROUNDS)
        rounds += ROUNDS
    return round(rounds * 2.0 * SIDE**3 / (time.perf_counter() - began) / 1e12, 1)


def main() -> None:
    """Measure, and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", type=int, default=5, help="so often")
    parser.add_argument("--seconds", type=float, default=20.0, help="seconds of work, each time")
    given = parser.parse_args()
    found = {
        "quick": quick(given.quick),
        "looks": looks(),
        "beside_work": beside_work(given.seconds),
    }
    print(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
