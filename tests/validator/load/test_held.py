"""Every figure that a GPU at work is held against, once more and by hand: a floor that moves is seen here."""

from dataclasses import replace

from gpuyard_validator.checks import CHECKS
from gpuyard_validator.load.thresholds import (
    matmul_threshold,
    memory_threshold,
    pcie_threshold,
    peer_threshold,
    step_threshold,
)
from gpuyard_validator.results import Status
from gpuyard_validator.run import validate
from gpuyard_validator.thresholds import gpus
from kit.cases.faults import rated
from kit.cases.hardware import expected, machine
from kit.every import every

T4, A10G, L4, L40S = "Tesla-T4", "NVIDIA-A10G", "NVIDIA-L4", "NVIDIA-L40S"
A100_40, A100_80 = "NVIDIA-A100-SXM4-40GB", "NVIDIA-A100-SXM4-80GB"
H100, H200, B200 = "NVIDIA-H100-80GB-HBM3", "NVIDIA-H200", "NVIDIA-B200"
GB200, RTX6000 = "NVIDIA-GB200", "NVIDIA-RTX-PRO-6000-Blackwell-Server-Edition"
FAIL, WARN, PASS = Status.FAIL, Status.WARN, Status.PASS

# A check, a product, what it must reach, and what falling below comes to: derived figures warn.
HELD = [
    ("work.memory", T4, 183.0, FAIL),
    ("work.memory", A10G, 363.0, FAIL),
    ("work.memory", L4, 198.8, FAIL),
    ("work.memory", L40S, 525.0, FAIL),
    ("work.memory", A100_40, 777.5, WARN),
    ("work.memory", A100_80, 1173.0, FAIL),
    ("work.memory", H100, 1905.0, FAIL),
    ("work.memory", H200, 3195.0, FAIL),
    ("work.memory", B200, 4072.5, FAIL),
    ("work.memory", GB200, 2602.5, WARN),
    ("work.memory", RTX6000, 1110.0, WARN),
    ("work.product", T4, 32.5, WARN),
    ("work.product", A10G, 35.0, WARN),
    ("work.product", L4, 60.5, WARN),
    ("work.product", L40S, 181.0, WARN),
    ("work.product", A100_40, 203.2, FAIL),
    ("work.product", A100_80, 203.2, FAIL),
    ("work.product", H100, 596.2, FAIL),
    ("work.product", H200, 596.2, FAIL),
    ("work.product", B200, 1308.8, FAIL),
    ("work.product", GB200, 1250.0, WARN),
    ("work.product", RTX6000, 233.5, WARN),
    ("work.step", T4, 27.6, WARN),
    ("work.step", A10G, 29.8, WARN),
    ("work.step", L4, 51.4, WARN),
    ("work.step", L40S, 153.8, WARN),
    ("work.step", A100_40, 172.8, FAIL),
    ("work.step", A100_80, 172.8, FAIL),
    ("work.step", H100, 506.8, FAIL),
    ("work.step", H200, 506.8, FAIL),
    ("work.step", B200, 1112.4, FAIL),
    ("work.step", GB200, 1062.5, WARN),
    ("work.step", RTX6000, 198.5, WARN),
    ("work.to_device", T4, 4.7, WARN),
    ("work.to_device", A10G, 4.7, WARN),
    ("work.to_device", L4, 4.7, WARN),
    ("work.to_device", L40S, 9.5, WARN),
    ("work.to_device", A100_40, 21, FAIL),
    ("work.to_device", A100_80, 21, FAIL),
    ("work.to_device", H100, 48, FAIL),
    ("work.to_device", H200, 48, FAIL),
    ("work.to_device", B200, 37.8, WARN),
    ("work.to_device", GB200, 37.8, WARN),
    ("work.to_host", T4, 4.7, WARN),
    ("work.to_host", L40S, 9.5, WARN),
    ("work.to_host", A100_40, 21, FAIL),
    ("work.to_host", H100, 48, FAIL),
    ("work.to_host", B200, 37.8, WARN),
]
# The same of copies to another GPU, with the NVLink that the product has.
PAIRS = [
    (A100_40, 600, 235, FAIL),
    (A100_80, 600, 235, FAIL),
    (H100, 900, 335, FAIL),
    (H200, 900, 335, FAIL),
    (B200, 1800, 540.0, WARN),
    (GB200, 1800, 540.0, WARN),
    ("NVIDIA-NEW", 100, 30.0, WARN),
]
TASKS = {"work.product": ("product", 1000), "work.step": ("step", 1000)}


def outcome(check, product, value, nvlink=1800):
    """What the check says of a GPU of this product with this rate; and of its floor."""
    task, scale = TASKS.get(check, (check.removeprefix("work."), 1))
    seen = rated(task, value * scale)(machine("B200-loaded"))
    only = replace(seen, gpus=seen.gpus[1:2])
    wanted = expected("B200-loaded", product=product, nvlink_gbps=nvlink)
    (result,) = validate(wanted, only, {check: CHECKS[check]}).results
    return result.evidence


@every("check, product, floor, below", HELD)
def test_a_product_is_held_against_its_own_figure(check, product, floor, below):
    just = outcome(check, product, floor)
    assert (just.status, just.threshold) == (PASS, floor)
    less = outcome(check, product, floor - 0.2)
    assert (less.status, less.threshold) == (below, floor)
    assert ("not measured" in less.source) is (below is WARN)


@every("product, nvlink, floor, below", PAIRS)
def test_a_pair_is_held_against_its_link(product, nvlink, floor, below):
    just = outcome("work.peers", product, floor, nvlink)
    assert (just.status, just.threshold) == (PASS, floor)
    less = outcome("work.peers", product, floor - 0.2, nvlink)
    assert (less.status, less.threshold) == (below, floor)


def test_every_product_is_in_the_table():
    measured = {name for name, row in gpus().items() if "matmul_sheet" in row}
    assert measured == {name for name, row in gpus().items() if "memory_sheet" in row}
    for check in ("work.memory", "work.product", "work.step"):
        assert {p for c, p, *_ in HELD if c == check} == measured
    for product in measured:
        assert memory_threshold(product).said
        assert matmul_threshold(product).said
        assert step_threshold(product).said.startswith("derived: 0.85 of (")
        assert pcie_threshold(product).said
        assert peer_threshold(product, 900).said
